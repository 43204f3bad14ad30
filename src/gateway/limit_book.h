/*
 * limit_book: the limits of keys, projects and models, for all workers of a gateway.
 *
 * One table under one lock, held for some hundred nanoseconds at a time: so a limit is exact however the requests are
 * spread over workers. A request that is limited by nothing does not touch it. core/route/limits.h decides.
 */
#ifndef BERTH_GATEWAY_LIMIT_BOOK_H
#define BERTH_GATEWAY_LIMIT_BOOK_H

#include "core/route/limits.h"
#include "gateway/keys.h"

struct limit_book;
struct limit_entry;

enum { LIMIT_CHARGES = 3 }; /* of the key, of the project, of the model */

/* What a request was charged. Zeroed: nothing. */
struct limit_charge {
    struct limit_entry *entries[LIMIT_CHARGES];
    size_t n;
    int64_t tokens;
};

/* Of the limit that is nearest to its end; limit 0: there is none. */
struct limit_left {
    int64_t limit, left, reset_ns;
};
struct limit_view {
    struct limit_left requests, tokens;
};

struct limit_book *limit_book_new(void); /* NULL: no memory */
void limit_book_free(struct limit_book *b);

/* Whose limit refused, with its text for people: "key", "project" or "model"; NULL: it passed. key may be NULL.
 * Without memory for an entry the request passes that limit. */
const char *limit_book_take(struct limit_book *b, const struct gateway_key *key,
                            const struct routes_model *m, int64_t tokens, int64_t now,
                            struct limit_charge *ret, struct limit_view *ret_view,
                            struct limits_answer *ret_answer);
/* It is over and used so many tokens. Clears the charge. */
void limit_book_give(struct limit_book *b, struct limit_charge *c, int64_t tokens, int64_t now);

#endif

/* token_page (server): the opaque `continue` of a list: which snapshot, and the last key that was
 * sent. */
#ifndef BERTH_SERVER_TOKEN_PAGE_H
#define BERTH_SERVER_TOKEN_PAGE_H

#include "base/arena.h"
#include "base/err.h"

struct page_token {
    uint64_t rv;   /* 0: inconsistent continuation, from the newest state */
    uint64_t at_s; /* when the first page was answered, seconds since 1970; 0: not told */
    struct str ns, name;
};

/* Whether a list begun then is too old to go on with: upstream's store forgets past states after a while, also where
 * nothing changes, and clients rely on being told. */
bool page_token_too_old(const struct page_token *t, uint64_t now_s);

struct str page_token_write(struct arena *a, const struct page_token *t);
/* ERR_BAD_REQUEST "continue key is not valid". */
int page_token_read(struct arena *a, struct str text, struct page_token *ret, struct err *err);

#endif

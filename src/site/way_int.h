/* way_int: what way.c (sending on), way_ask.c (questions of our own) and way_computed.c share. */
#ifndef BERTH_SITE_WAY_INT_H
#define BERTH_SITE_WAY_INT_H

#include "base/map.h"
#include "site/way.h"
#include "wire/json.h"

struct pass;
struct computing;
struct way_question;

struct way {
    struct way_options o;
    char *server;
    struct clock *clock;
    struct http_client *http;    /* for questions of our own */
    struct http_client *streams; /* for what is sent on */
    struct pass *passes;
    size_t n_passes;
    struct timer *timer; /* looks for sessions that have ended, while anything is on its way */
    struct computing *computings;
    struct way_question *questions;
    struct map rights;
};

/* ---- way_ask.c ---- */

/* A POST of JSON with a token; done comes exactly once, never inside, unless it is cancelled. root is NULL when code is
 * not 0. Not for secrets in the text of errors. */
typedef void way_told(void *ctx, int code, yyjson_val *root, const struct err *err);
int way_ask(struct way *w, struct str token, const char *path, struct str body, way_told *told,
            void *ctx, struct way_question **ret, struct err *err);
void way_ask_cancel(struct way_question *q); /* NULL is a no-op */
void way_ask_release(struct way *w);
/* "Authorization: Bearer TOKEN" in the arena; empty when out of memory. */
struct str way_bearer(struct arena *a, struct str token);

/* ---- way_computed.c ---- */

/* True: the path is a computed kind's, and it is or will be answered. */
bool way_computed(struct way *w, struct http_request *r, const struct session *one);
void way_computed_release(struct way *w);

#endif

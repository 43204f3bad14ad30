/* way_private: what the files of the way share: way.c (sending on), way_ask.c (questions of our own), way_compute.c,
 * way_computed.c and way_watch.c. */
#ifndef BERTH_SITE_WAY_PRIVATE_H
#define BERTH_SITE_WAY_PRIVATE_H

#include "base/map.h"
#include "port/virtual_watch.h"
#include "site/way/way.h"
#include "wire/json/json.h"

struct pass;
struct computing;
struct asked;
struct way_watcher;
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
    bool sweeps;         /* it runs */
    struct computing *computings;
    struct asked *asked;
    struct way_watcher *watchers;
    struct virtual_hub *hub; /* NULL: nothing is computed here */
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

/* ---- way.c ---- */

void way_sweep(struct way *w); /* something lasts: its session is looked at now and then */

/* ---- way_compute.c ---- */

struct computing_options {
    /* Without `may`; what it points to is kept by the caller until done */
    const struct virtual_ask *q;
    const char *right;             /* the verb that must be allowed */
    const struct session *session; /* copied as far as needed */
    virtual_done *done;
    void *ctx;
};
struct computing *computing_new(struct way *w,
                                const struct computing_options *o); /* NULL: no memory */
/* done comes exactly once, perhaps inside, and k is gone then; or computing_free before. */
void computing_start(struct computing *k);
void computing_free(struct computing *k); /* NULL is a no-op */
void computing_release(struct way *w);

/* ---- way_computed.c ---- */

/* True: the path is a computed kind's, and it is or will be answered. */
bool way_computed(struct way *w, struct http_request *r, const struct session *one);

/* ---- way_watch.c ---- */

/* Answers r with a stream; q is the list that is watched, and lives as long as r. */
void way_watch(struct way *w, struct http_request *r, const struct session *one,
               const struct virtual_ask *q);
void way_watch_recheck(struct way *w); /* those whose session has ended end */

#endif

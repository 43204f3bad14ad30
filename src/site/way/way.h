/*
 * way: from a signed-in browser to a cluster's API server, as its user.
 *
 * A request below /api, /apis, /openapi and /version is sent on with the session's token and nothing else that could
 * speak for somebody (no cookie, no Impersonate-*, no credential of ours); what the API server answers goes back as it
 * comes. Watches and followed logs stream: when the browser cannot keep up, the API server is not read. What a pod or a
 * service would answer itself (proxy, exec, attach, portforward) is refused: it would be a page of this origin.
 *
 * Kinds that are computed (port/virtual.h) are not the cluster's: they are answered here by whoever registered for
 * them. Whether the user may ask, and what the answerer asks on their behalf, is found out by SelfSubjectAccessReview:
 * an answer that needed unknown rights is thrown away and made again once they are known. They can be watched
 * (port/virtual_watch.h), with the right to watch them.
 */
#ifndef BERTH_SITE_WAY_H
#define BERTH_SITE_WAY_H

#include "net/http_client.h"
#include "port/virtual.h"
#include "site/dashboard.h"

struct way;

enum {
    WAY_PASSES_MAX = 480,    /* requests on their way: each has a connection to the API server */
    WAY_PASSES_OF_USER = 64, /* watches included */
    WAY_RIGHTS_MAX = 20000,  /* remembered answers */
    WAY_RIGHTS_OF_ASK = 512, /* rights that one computed answer may ask for */
};

struct way_options {
    struct loop *loop;
    struct sessions *sessions;
    struct str server; /* "https://10.0.0.1:6443", without a trailing '/'; may have a path */
    struct http_client_options client;       /* how it is verified; without any identity */
    const struct virtual_registry *virtuals; /* NULL: nothing is computed here */
    struct mirror *mirror;                   /* what is computed depends on it; outlives the way */
};

struct way *way_new(const struct way_options *o, struct err *err);
void way_free(struct way *w); /* NULL is a no-op; after the HTTP server whose requests it has */

/* http_server_options.head of the listener: who is not signed in sends no body for the API server. */
bool way_head(struct way *w, struct http_request *r);
/* Answers r, now or later. */
void way_handle(struct way *w, struct http_request *r);
/* For dashboard_options.identify: asks the API server whose token it is. */
void way_identify(struct way *w, struct str token, struct dashboard_asking *k);
/* A session has ended: so does what it holds open. */
void way_recheck(struct way *w);

/* ---- parts, for tests and fuzzing ---- */

/* May this path be sent on? ERR_NOT_FOUND, ERR_BAD_REQUEST (segments that could be read in two ways), ERR_FORBIDDEN. */
int way_path_check(struct str path, struct err *err);
/* A content type that cannot become a page. */
bool way_type_is_safe(struct str type);
/* When a token says that it ends: the claim "exp" of a JWT, as wall time in ns; 0: it does not say. */
int64_t way_token_ends(struct str token, struct arena *a);

#endif

/*
 * request (server): what an HTTP request asks for, in Kubernetes' terms: verb, group, version, resource, subresource,
 * namespace, name, options, user. Pure: bytes in, a struct of views out; the kind is looked up in the tables.
 *
 *     POST /api/v1/namespaces/team-a/pods?dryRun=All      create, "", v1, pods, namespace team-a
 *     GET  /apis/batch/v1/jobs?watch=1                    watch, batch, v1, jobs, all namespaces
 *     PUT  /api/v1/namespaces/x/finalize                  update, "", v1, namespaces, name x,
 subresource finalize
 *     GET  /version                                       not a resource: verb "get", path /version
 *
 * A controller's write makes the same struct (see pipeline.h), so that authorization, admission
 * and audit see one shape.
 */
#ifndef BERTH_SERVER_REQUEST_H
#define BERTH_SERVER_REQUEST_H

#include "api/schema/kind.h"
#include "api/tables/field.h"
#include "base/arena.h"
#include "base/err.h"

enum verb {
    VERB_OTHER, /* not a resource request, or a method without a verb */
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETECOLLECTION,
};

/* Who asks. Filled by the guard (guard.h); views live in the request's arena. */
struct user_extra {
    struct str key;
    struct str_list values;
};
struct user {
    struct str name, uid;
    struct str_list groups; /* system:authenticated included, once known */
    struct user_extra *extra;
    size_t n_extra;
    struct str impersonated_by; /* the real user while impersonating, else empty */
    int64_t expires_ns;         /* when the credential does, wall time; 0: it does not */
};

/* For whom a request counts where users are bounded: the real user while impersonating, and "system:serviceaccount:NS"
 * for all service accounts of a namespace, since whoever may make one makes many. A view of u. */
struct str user_account(const struct user *u);

/* The query, decoded. Absent views are empty; numbers say what absent means. */
struct request_options {
    struct str label_selector, field_selector;
    struct str resource_version, resource_version_match;
    struct str continue_token;
    struct str field_manager, field_validation; /* "Ignore", "Warn", "Strict" or empty */
    struct str include_object;                  /* "None", "Metadata", "Object" or empty */
    struct str propagation_policy;
    int64_t limit;           /* 0: all */
    int64_t timeout_seconds; /* -1: absent */
    int64_t grace_seconds;   /* -1: absent */
    struct opt_bool send_initial_events, force, orphan_dependents;
    bool watch, allow_bookmarks;
    bool dry_run; /* dryRun=All */
};

struct api_request {
    struct str method; /* "GET" */
    struct str path;   /* raw, as sent, without the query */
    struct user user;

    bool resource;  /* below /api/V/ or /apis/G/V/; the rest of this struct is set only then */
    enum verb verb; /* VERB_OTHER when !resource */
    struct str verb_name; /* "create"; for a path the method in lower case */
    struct str group, version, plural, subresource;
    struct str rest; /* the segment after the subresource; nothing served has one */
    /* Of the request; for the Namespace object itself its own name, as authorization wants it */
    struct str ns;
    /* Empty for collections; for list and watch by metadata.name=X it stays empty */
    struct str name;
    struct str authz_name; /* name, or X of a list or watch with fieldSelector metadata.name=X */

    const struct kind *kind;       /* NULL: no such resource */
    const struct kind_version *kv; /* the version asked for */

    struct request_options opt;
    struct str_pair *query; /* every pair, decoded, in order */
    size_t n_query;
};

/* Classifies. `query` is what follows '?'. ERR_BAD_REQUEST (bad escapes, bad values), ERR_METHOD
 * for HEAD, OPTIONS and
 * others on resources, ERR_INVALID for options of the wrong value (dryRun), ERR_NOMEM. An unknown resource is no error
 * here: kind stays NULL. *ret is filled as far as it goes also on failure, so that audit can say what was tried. */
int request_parse(struct arena *a, struct str method, struct str path, struct str query,
                  struct api_request *ret, struct err *err);

/* The i-th value of a repeated parameter; false when there are no more. */
bool request_query_nth(const struct api_request *q, const char *key, size_t i, struct str *ret);
struct str request_query(const struct api_request *q, const char *key); /* first, or empty */

/* The namespace under which the object is stored: empty for cluster-scoped kinds (the Namespace
 * object too). */
struct str request_key_ns(const struct api_request *q);

/* "1", "true", "True", ... ; false when it is neither true nor false. */
bool request_bool(struct str s, bool *ret);

/* Percent-decodes into the arena (plus: '+' is a blank, as in queries). ERR_BAD_REQUEST,
 * ERR_NOMEM. */
int request_unescape(struct arena *a, struct str s, bool plus, struct str *ret, struct err *err);

#endif

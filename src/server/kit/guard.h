/*
 * guard (server): the one place where a request meets authentication, authorization, escalation
 * checks and audit.
 *
 * `struct guard` is the interface that the policy (tokens, certificates, RBAC, reviews, audit log) implements; the
 * server calls it at the points below and nowhere else. All calls are made on the loop thread and answer at once. Any
 * member may be NULL: authenticate NULL makes everybody system:anonymous, authorize NULL allows everything (tests
 * only).
 *
 * Order for an HTTP request: request_parse, authenticate (impersonation included: it authorizes by itself), in-flight
 * limits, authorize, the handler; for writes of objects, `admit_write` just before the object is staged; at the end,
 * once, `audit`. Controllers' own writes skip authenticate and authorize and are audited; what they make of a user's
 * template goes through `admit_template` in place of `admit_write`.
 */
#ifndef BERTH_SERVER_GUARD_H
#define BERTH_SERVER_GUARD_H

#include "mirror/object.h"
#include "net/http_server.h"
#include "server/kit/request.h"
#include "site/oidc/oidc.h"
#include "wire/json/json.h"

struct audit_record {
    const struct api_request *req; /* user included */
    struct str peer;               /* "127.0.0.1:50000"; empty for controllers */
    struct str audit_id;
    int status;                   /* HTTP status of the answer */
    struct str reason;            /* of a failed one: "Forbidden", ... */
    struct str message;           /* of a failed one */
    struct str decision;          /* authorize's reason */
    int64_t started_ns, ended_ns; /* wall time */
    struct str annotations;       /* members of a JSON object, or empty */
    uint64_t revision;            /* the newest that was on disk then; 0: not known */
};

struct guard {
    /* Who asks; views live in `a`. ERR_UNAUTHORIZED (present but invalid credentials, too),
     * ERR_FORBIDDEN
     * (impersonation not allowed; the text is the whole message). ERR_AGAIN: it is being found out; see wait. */
    int (*authenticate)(struct guard *g, struct http_request *r, const struct api_request *q,
                        struct arena *a, struct user *ret, struct err *err);

    /* w is told when a request that was answered ERR_AGAIN may be asked about again. False: it is not worth waiting. */
    bool (*wait)(struct guard *g, struct oidc_waiter *w);

    /* May q->user do this? 0, or ERR_FORBIDDEN. *ret_reason gets why ("RBAC: allowed by ..."), or
     * stays empty; the
     * server makes the message of a refusal and appends ": reason" when there is one. */
    int (*authorize)(struct guard *g, const struct api_request *q, struct arena *a,
                     struct str *ret_reason, struct err *err);

    /* Privilege escalation (roles, bindings): obj is about to be stored (storage version), old is
     * NULL on create.
     * ERR_FORBIDDEN; the text is what follows `roles... "x" is forbidden: `. Not called for controllers. */
    int (*admit_write)(struct guard *g, const struct api_request *q, yyjson_mut_val *obj,
                       const struct object *old, struct arena *a, struct err *err);

    /* A controller creates obj as a user's template says: what that user may not write is refused here, too, whatever
     * rights they have. ERR_FORBIDDEN; the text as above. */
    int (*admit_template)(struct guard *g, const struct api_request *q, yyjson_mut_val *obj,
                          struct arena *a, struct err *err);

    /* A POST of a virtual kind (SelfSubjectAccessReview, TokenReview, ...): fills `status` of d's
     * root, in the storage
     * version, defaulted. ERR_INVALID, ERR_BAD_REQUEST, ERR_FORBIDDEN. */
    int (*review)(struct guard *g, const struct api_request *q, yyjson_mut_doc *d, struct arena *a,
                  struct err *err);

    /* POST serviceaccounts/NAME/token: fills `status` (and defaults of `spec`) of the TokenRequest
     * in d. */
    int (*token)(struct guard *g, const struct api_request *q, const struct object *account,
                 yyjson_mut_doc *d, struct arena *a, struct err *err);

    /* One line of the audit log. Must not block. */
    void (*audit)(struct guard *g, const struct audit_record *rec);
};

struct failure;

/* The two steps for a request, with the failure filled as a Status. 0 or a negative code; ERR_AGAIN as above, then
 * the failure is that of a request whose user is not known. */
int guard_enter(struct guard *g, struct http_request *r, struct api_request *q, struct arena *a,
                struct str *ret_decision, struct failure *f);
/* Authorization of a further action within a request (exec needs create, ...); q is a changed
 * copy. */
int guard_allow(struct guard *g, const struct api_request *q, struct arena *a,
                struct str *ret_decision, struct failure *f);
/* Fills *f for a refusal of q: `pods "x" is forbidden: User "u" cannot get resource ...`. */
void guard_forbidden(const struct api_request *q, struct arena *a, struct str reason,
                     struct failure *f);

#endif

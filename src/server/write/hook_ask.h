/*
 * hook_ask (server): AdmissionReview as its asker sees it: the question about a write, and what an answer says.
 * Internal to hooks; no I/O.
 */
#ifndef BERTH_SERVER_HOOK_ASK_H
#define BERTH_SERVER_HOOK_ASK_H

#include "net/http_client.h"
#include "server/write/pipeline.h"

enum { HOOK_WARNINGS = 8 };

struct hook_answer {
    struct str error; /* it did not answer, or not as agreed; else empty */
    bool allowed;
    struct str patch; /* JSON patch, empty: none */
    int http;         /* of a denial; 0: not said */
    struct str reason, message;
    yyjson_val *details; /* of a denial: NULL or the Status' */
    struct str warnings[HOOK_WARNINGS];
    size_t n_warnings;
    bool warned;
};

/* The request without its uid, in this version; in w->arena. The same write on the same state asks the same. */
int hook_question(struct write *w, const struct kind_version *kv, struct str *ret);
/* Do all matchConditions hold for this question? ERR_INVALID with a text: one cannot be told and none is false.
 * ERR_NOMEM. */
int hook_meets(struct write *w, yyjson_val *conditions, struct str question, bool *ret,
               struct err *err);
/* The whole body with a fresh uid, both in a. ERR_NOMEM. */
int hook_body(struct write *w, struct arena *a, struct str question, struct str *ret_uid,
              struct str *ret);
/* Texts are in the arena. */
void hook_read_answer(struct arena *a, struct str uid, const struct http_reply *r,
                      struct hook_answer *ret);
/* Applies the patch of a webhook that saw version kv to w->doc; names, uid and the like stay, and so does all but the
 * status where that alone is written. ERR_INVALID: it cannot be applied. */
int hook_patch(struct write *w, const struct kind_version *kv, struct str patch, struct err *err);
/* The same for any change of the object in that version. */
int hook_change(struct write *w, const struct kind_version *kv,
                int (*change)(void *ctx, yyjson_mut_doc *d, struct err *err), void *ctx,
                struct err *err);
/* Fills w->failure from a denial. */
int hook_denied(struct write *w, struct str name, const struct hook_answer *a);

#endif

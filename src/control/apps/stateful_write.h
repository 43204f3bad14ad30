/*
 * stateful_write: the pods, claims and revisions that a StatefulSet makes.
 */
#ifndef BERTH_CONTROL_STATEFUL_WRITE_H
#define BERTH_CONTROL_STATEFUL_WRITE_H

#include "mirror/object.h"
#include "wire/json/json.h"

#define STATEFUL_REVISION_LABEL "controller-revision-hash"

struct stateful_write {
    const struct object *set;
    yyjson_val *tree;     /* the set's JSON */
    yyjson_val *template; /* of the revision */
    struct str revision;  /* its name */
    int64_t ordinal;
};
/* All append to out, and return 0 or ERR_NOMEM. */
int stateful_write_pod(const struct stateful_write *w, struct arena *a, struct buf *out);
/* The claim of a template, for the pod of the ordinal. */
int stateful_write_claim(const struct stateful_write *w, yyjson_val *claim, struct arena *a,
                         struct buf *out);
struct str stateful_claim_name(const struct stateful_write *w, yyjson_val *claim, struct arena *a);
int stateful_write_revision(const struct object *set, yyjson_val *tree, struct str name,
                            struct str hash, int64_t revision, struct arena *a, struct buf *out);

#endif

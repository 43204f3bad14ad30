/* crd_status: what the status of a CustomResourceDefinition says: accepted names and conditions. Pure. */
#ifndef BERTH_SERVER_CRD_STATUS_H
#define BERTH_SERVER_CRD_STATUS_H

#include "mirror/object.h"

enum { CRD_CONFLICTS = 8 };

/* Which names of a definition other definitions of its group have. */
struct crd_names {
    yyjson_val *self;
    struct str conflicts[CRD_CONFLICTS], reasons[CRD_CONFLICTS]; /* "foos", "PluralConflict" */
    size_t n_conflicts;
};

bool crd_is_established(yyjson_val *crd);
/* Notes what the accepted names of `other`, a definition, take away. Views point into the trees. */
void crd_names_take(struct crd_names *n, yyjson_val *other);

/* The merge patch of the status, at revision rv; false: it says that already. */
bool crd_status_patch(yyjson_val *crd, uint64_t rv, const struct crd_names *names, int64_t now,
                      struct buf *out);
/* The merge patch that takes a finalizer away. */
void crd_finalizer_patch(const struct object *crd, struct arena *a, const char *finalizer,
                         struct buf *out);

/* Sets a condition in status.conditions of a whole object; true: it was not so before. */
bool crd_set_condition(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *type, const char *status,
                       const char *reason, struct str message, int64_t now);

#endif

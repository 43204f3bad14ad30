/*
 * id_range (server): the user and group ids that pods of a namespace may ask for, in OpenShift's words: annotation
 * openshift.io/sa.scc.uid-range of the Namespace, "START/SIZE" or "START-END". A Namespace that is made without gets a
 * range that no other has, ID_RANGE_SIZE ids from ID_RANGE_FIRST on.
 *
 * Ranges begin at ID_RANGE_LEAST at least, beyond users of the machine and what containers of theirs run as, and spare
 * those that the node itself gives to pods and projects (node/sandbox/users.h).
 */
#ifndef BERTH_SERVER_ID_RANGE_H
#define BERTH_SERVER_ID_RANGE_H

#include "mirror/mirror.h"
#include "wire/json/json.h"

#define ID_RANGE_ANNOTATION "openshift.io/sa.scc.uid-range"
enum {
    ID_RANGE_LEAST = 1000000000,
    ID_RANGE_OWN_FIRST = 1900000000, /* the node's own: to ... */
    ID_RANGE_OWN_LAST = 1901999999,
    ID_RANGE_FIRST = 1902000000,
    ID_RANGE_SIZE = 10000,
    ID_RANGES = 24000
};

struct id_range {
    int64_t first, last;
};

/* Given since the start: never twice, also while a Namespace is not committed yet. */
struct id_ranges {
    uint8_t given[ID_RANGES / 8];
};

/* ERR_NOT_FOUND: the Namespace has none; ERR_INVALID: its text, which cannot be a range. */
int id_range_read(const struct object *ns, struct arena *a, struct id_range *ret, struct err *err);
/* Gives one to the Namespace that is made, unless it says its own. 0 or ERR_NOMEM. */
int id_range_give(struct id_ranges *given, const struct mirror *m, yyjson_mut_doc *d);

/* What a pod's spec asks for. ERR_FORBIDDEN names the field, the id and the range. fsGroup below ID_RANGE_LEAST has no
 * effect, and is not judged. */
int id_range_check(yyjson_mut_val *spec, const struct object *ns, struct arena *a, struct err *err);
/* Is fsGroup something that has an effect? True also when there is none. */
bool id_range_has_fs_group(yyjson_mut_val *spec, const struct object *ns, struct arena *a);

#endif

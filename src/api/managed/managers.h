/*
 * managers: metadata.managedFields of one object: who set which fields, in the order in which Kubernetes writes them.
 *
 * An entry is one manager's, by its name, operation, subresource, and for updates the version in which it wrote. An
 * object without entries is not tracked. Everything lies in an arena.
 */
#ifndef BERTH_API_MANAGERS_H
#define BERTH_API_MANAGERS_H

#include "api/managed/fields.h"

struct manager {
    struct str name, api_version, subresource;
    bool apply;   /* its operation is Apply, else Update */
    int64_t time; /* wall, ns; 0: none */
    struct fields set;
};

struct managers {
    struct manager *v;
    size_t n, cap;
};

/* From the list; NULL and what is no list are no entries. ERR_INVALID with a text that begins with the place, as in
 * "[0].time: ..."; ERR_TOO_LARGE beyond LIMIT_FIELD_MANAGERS; ERR_NOMEM. */
int managers_read(struct arena *a, yyjson_mut_val *list, struct managers *ret, struct err *err);
/* The list says to forget all: it is empty, or has one empty entry. */
bool managers_are_reset(yyjson_mut_val *list);
/* Puts them in order and makes the list; NULL: out of memory. */
yyjson_mut_val *managers_tree(yyjson_mut_doc *d, struct managers *m);

/* The entry of the same name, operation, subresource (and version); NULL when there is none. */
struct manager *managers_find(const struct managers *m, const struct manager *who);
/* The same, added with an empty set where it is missing; NULL: out of memory. */
struct manager *managers_have(struct arena *a, struct managers *m, const struct manager *who);
void managers_drop_empty(struct managers *m);
/* Of more than ten entries of updates the oldest of a version become one, of "ancient-changes". */
void managers_cap(struct arena *a, struct managers *m);

#endif

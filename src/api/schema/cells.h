/*
 * cells: the columns of `kubectl get` that many kinds have, and the cells that hooks of kinds write.
 */
#ifndef BERTH_API_CELLS_H
#define BERTH_API_CELLS_H

#include "api/schema/kind.h"
#include "api/tables/table.h"

/* Columns that many kinds have. */
#define COLUMN_NAME                                                                                \
    {                                                                                              \
        .name = "Name", .type = "string", .format = "name", .path = "metadata.name",               \
        .doc = "Name of the object, unique in its namespace."                                      \
    }
#define COLUMN_AGE                                                                                 \
    {                                                                                              \
        .name = "Age", .type = "string", .path = "metadata.creationTimestamp",                     \
        .doc = "How long ago the object was created."                                              \
    }
/* A cell that the kind's hook computes, and one taken from a path; priority 1 shows with -o wide only. */
#define COLUMN(name_, type_, priority_, doc_)                                                      \
    { .name = name_, .type = type_, .priority = priority_, .doc = doc_ }
#define COLUMN_PATH(name_, type_, priority_, path_, doc_)                                          \
    { .name = name_, .type = type_, .priority = priority_, .path = path_, .doc = doc_ }

/* Cells: JSON strings; "<none>" for nothing. */
void cell_str(struct buf *out, struct str s);
void cell_f(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The age of an RFC 3339 text, "<unknown>" when empty. */
void cell_age(struct buf *out, struct str time, int64_t now);
/* Of status.conditions: the status of this type, empty when absent. */
struct str condition_status(yyjson_val *obj, const char *type);
/* Names or images of the containers of a pod spec, joined with commas. */
void cell_containers(struct buf *out, yyjson_val *spec, const char *member);
/* "a=b,c=d" */
void cell_labels(struct buf *out, yyjson_val *map);

#endif

/*
 * fields: a set of paths into an object, as a tree of steps: what FieldsV1 of managed fields says.
 *
 * A node is the path down to it; the path is in the set when `member`. Nodes below it are sorted by step, each at most
 * once, and none is empty (neither a member nor above one). Sets are values in an arena: functions make new ones, which
 * share what they can with those they were made from, and change none. While a set is built its nodes may stand in any
 * order; fields_order puts them right.
 *
 * Memory that fails sticks to the arena (arena_ok), and so do steps that are spent (arena_spent); what was made is then
 * of no use.
 */
#ifndef BERTH_API_FIELDS_H
#define BERTH_API_FIELDS_H

#include "api/managed/step.h"

struct fields {
    struct field_step step; /* from the node above; of the root: nothing */
    bool member;
    bool mixed; /* being built, and not in order */
    uint32_t n, cap;
    struct fields *v;
};

static inline bool fields_empty(const struct fields *f) {
    return !f->member && f->n == 0;
}

/* Building: a node below `to`, by value; an empty one is left out. */
void fields_add(struct arena *a, struct fields *to, const struct fields *node);
void fields_reserve(struct arena *a, struct fields *to, size_t n); /* room for so many, at first */
void fields_add_member(struct arena *a, struct fields *to, struct field_step step);
/* Sorts the nodes right below, and joins those of one step. */
void fields_order(struct arena *a, struct fields *f);

const struct fields *fields_find(const struct fields *f,
                                 const struct field_step *step); /* or NULL */
bool fields_equal(const struct fields *a, const struct fields *b);

/* A member of the result is one of: either; both; x and not y. Below a path that is a member of y nothing goes with
 * it. */
struct fields fields_union(struct arena *a, const struct fields *x, const struct fields *y);
struct fields fields_both(struct arena *a, const struct fields *x, const struct fields *y);
struct fields fields_minus(struct arena *a, const struct fields *x, const struct fields *y);
/* Without, or with nothing but, the member of this name right below and all that is below it. */
struct fields fields_without(struct arena *a, const struct fields *f, const char *name);
struct fields fields_only(struct arena *a, const struct fields *f, const char *name);

size_t fields_count(const struct fields *f); /* of members */
/* Each member's path as text, `.spec.replicas`: those right below a node before those further down. `each` answers
 * whether it wants another one; false: it did not. */
bool fields_each(const struct fields *f, struct arena *a, bool (*each)(void *ctx, struct str path),
                 void *ctx);

/* FieldsV1, and back. Steps of a type that we do not know are left out. ERR_INVALID: no FieldsV1. ERR_NOMEM. */
int fields_read(struct arena *a, yyjson_mut_val *v, struct fields *ret);
yyjson_mut_val *fields_tree(yyjson_mut_doc *d, const struct fields *f); /* NULL: out of memory */

#endif

/*
 * manage: who manages which fields, after a write, and what an apply makes of an object.
 *
 * The rules are those of a kube-apiserver. A write that is no apply takes over the fields that it adds or changes, and
 * takes those that it removes from everybody. An apply says all that its manager wants: what others have set otherwise
 * is a conflict unless it is forced, what the manager applied before and does not now goes, when nobody else has it.
 *
 * Pure: trees in, trees and entries out. Objects are trees of the version that the request names; entries of other
 * versions are compared in theirs, by `convert`.
 */
#ifndef BERTH_API_MANAGE_H
#define BERTH_API_MANAGE_H

#include "api/managed/managers.h"
#include "api/managed/typed.h"

struct manage {
    struct arena *arena;
    struct manager who; /* name, version of the request, subresource, apply; time is now */
    /* Of the members of the object (not of metadata): written by this request `only`, or all but `without`. NULL: no
     * such rule. */
    const char *only, *without;
    struct form form; /* of the request's version */
    /* The form of another version, and a copy of a tree from one to another. ERR_NOT_FOUND: there is no such version
     * (any more), and entries of it go. */
    int (*form_of)(void *ctx, struct str api_version, struct form *ret);
    int (*convert)(void *ctx, yyjson_mut_val *tree, struct str from, struct str to,
                   yyjson_mut_val **ret, struct err *err);
    /* A new copy of the object that is stored, in the version of the request; NULL: there is none. For applies. */
    int (*stored)(void *ctx, yyjson_mut_val **ret, struct err *err);
    void *ctx;
};

/* After a write from `was` (NULL: it is created) to `now`: the entries, in place; *ret_same: they are as they were.
 * ERR_NOMEM, ERR_TOO_LARGE, and what convert says; the entries are of no use then. */
int manage_update(const struct manage *m, yyjson_mut_val *was, yyjson_mut_val *now,
                  struct managers *all, bool *ret_same, struct err *err);

struct conflict {
    struct manager who;
    struct fields set;
};

struct applied {
    yyjson_mut_val *object; /* what is to be */
    bool same_entries;      /* nothing of what anybody manages is otherwise */
    bool same_fields;       /* the manager had the very same fields before: its time is as it was */
    struct conflict *conflicts; /* of ERR_CONFLICT */
    size_t n_conflicts;
};

/* The config, which is used up, applied to what is stored: an object of d, and the entries in place. `set`: its fields,
 * by typed_config. ERR_CONFLICT: others have set fields of it otherwise, and it was not forced. Else as
 * manage_update. */
int manage_apply(const struct manage *m, yyjson_mut_doc *d, yyjson_mut_val *config,
                 const struct fields *set, bool force, struct managers *all, struct applied *ret,
                 struct err *err);

#endif

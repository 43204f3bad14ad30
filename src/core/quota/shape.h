/*
 * shape (core): what a pod asks of a node besides amounts: node selector, required node affinity, tolerations; and the
 * two questions asked of it: does it match a flavor, does it match a node.
 *
 * A flavor is matched by the keys that the flavor itself names: selector entries and affinity expressions with other
 * keys do not count, and a term left empty that way is satisfied. A node is matched by everything. Preferred affinity
 * and PreferNoSchedule taints never exclude. All views; shape_copy makes one that stands alone.
 */
#ifndef BERTH_CORE_SHAPE_H
#define BERTH_CORE_SHAPE_H

#include "api/tables/view_core.h"

enum select_op { SELECT_IN, SELECT_NOT_IN, SELECT_EXISTS, SELECT_ABSENT, SELECT_GT, SELECT_LT };

struct select_rule {
    struct str key;
    enum select_op op;
    struct str_list values;
};

struct select_term {
    struct select_rule *labels;
    size_t n_labels;
    struct select_rule *fields; /* matchFields: only metadata.name */
    size_t n_fields;
};

struct shape {
    struct str_map selector;
    bool has_affinity; /* required terms are given; OR-ed */
    uint32_t n_terms;
    struct select_term *terms;
    struct toleration_list tolerations;
    /* A node label: all pods of a set run where it has one value; empty: anywhere. Not a matter of one pod: pool.h */
    struct str together;
};

/* The labels a flavor puts on its nodes, and what it brings. */
struct flavor_input {
    struct str name;
    struct str_map labels;
    struct taint_list taints;
    struct toleration_list tolerations;
};

/* Memory for copies that live and die together: one block, filled from the front. */
struct bump {
    char *p;
    size_t n, cap;
};
void *bump_alloc(struct bump *b, size_t n); /* never NULL: the caller measured before; asserted */
struct str bump_str(struct bump *b, struct str s);
static inline size_t bump_size(size_t n) {
    return (n + 7) & ~(size_t)7;
}

size_t shape_size(
    const struct shape *s); /* bytes that shape_copy takes from a bump, without the struct itself */
void shape_copy(struct bump *b, const struct shape *s, struct shape *to);
size_t flavor_input_size(const struct flavor_input *f);
void flavor_input_copy(struct bump *b, const struct flavor_input *f, struct flavor_input *to);
size_t str_map_size(struct str_map m);
struct str_map str_map_copy(struct bump *b, struct str_map m);
size_t taints_size(struct taint_list t);
struct taint_list taints_copy(struct bump *b, struct taint_list t);

bool taint_tolerated(const struct taint *t, struct toleration_list by);
/* The first taint that keeps a pod out and that neither list tolerates, or NULL. */
const struct taint *taints_untolerated(struct taint_list taints, const struct shape *s,
                                       const struct flavor_input *f);
bool shape_matches_flavor(const struct shape *s, const struct flavor_input *f);
/* Node labels, selector and affinity; f (may be NULL) adds its labels to the selector. */
bool shape_matches_node(const struct shape *s, const struct flavor_input *f, struct str node_name,
                        struct str_map labels);
/* The same in all that is asked of a shape, in the same order. */
bool shape_same(const struct shape *a, const struct shape *b);
/* Equal shapes hash alike, in this process (keyed_hash). It only finds who may be the same: guests choose what is
 * hashed, so who is the same is for shape_same. */
uint64_t shape_hash(const struct shape *s, uint64_t seed);
uint64_t hash_guest(uint64_t h, struct str s);
uint64_t hash_mix(uint64_t h, uint64_t v);
uint64_t hash_str(uint64_t h, struct str s);

#endif

/* shape (core): selectors, affinity, taints and tolerations. */
#include "core/quota/shape.h"

#include <assert.h>

#include "base/keyed_hash.h"

void *bump_alloc(struct bump *b, size_t n) {
    n = bump_size(n);
    assert(b->cap - b->n >= n);
    void *p = b->p + b->n;
    b->n += n;
    memset(p, 0, n);
    return p;
}

struct str bump_str(struct bump *b, struct str s) {
    char *p = bump_alloc(b, s.n);
    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    return (struct str){p, s.n};
}

size_t str_map_size(struct str_map m) {
    size_t n = bump_size(m.n * sizeof(*m.v));
    for (size_t i = 0; i < m.n; i++) {
        n += bump_size(m.v[i].key.n) + bump_size(m.v[i].value.n);
    }
    return n;
}

struct str_map str_map_copy(struct bump *b, struct str_map m) {
    struct str_map to = {.v = bump_alloc(b, m.n * sizeof(*m.v)), .n = m.n};
    for (size_t i = 0; i < m.n; i++) {
        to.v[i].key = bump_str(b, m.v[i].key);
        to.v[i].value = bump_str(b, m.v[i].value);
    }
    return to;
}

size_t taints_size(struct taint_list t) {
    size_t size = bump_size(t.n * sizeof(*t.v));
    for (size_t i = 0; i < t.n; i++) {
        size += bump_size(t.v[i].key.n) + bump_size(t.v[i].value.n) + bump_size(t.v[i].effect.n);
    }
    return size;
}

struct taint_list taints_copy(struct bump *b, struct taint_list t) {
    struct taint_list to = {.v = bump_alloc(b, t.n * sizeof(*t.v)), .n = t.n};
    for (size_t i = 0; i < t.n; i++) {
        to.v[i] = t.v[i];
        to.v[i].key = bump_str(b, t.v[i].key);
        to.v[i].value = bump_str(b, t.v[i].value);
        to.v[i].effect = bump_str(b, t.v[i].effect);
    }
    return to;
}

static size_t tolerations_size(struct toleration_list t) {
    size_t size = bump_size(t.n * sizeof(*t.v));
    for (size_t i = 0; i < t.n; i++) {
        size += bump_size(t.v[i].key.n) + bump_size(t.v[i].operator.n) + bump_size(t.v[i].value.n) +
                bump_size(t.v[i].effect.n);
    }
    return size;
}

static struct toleration_list tolerations_copy(struct bump *b, struct toleration_list t) {
    struct toleration_list to = {.v = bump_alloc(b, t.n * sizeof(*t.v)), .n = t.n};
    for (size_t i = 0; i < t.n; i++) {
        to.v[i] = t.v[i];
        to.v[i].key = bump_str(b, t.v[i].key);
        to.v[i].operator= bump_str(b, t.v[i].operator);
        to.v[i].value = bump_str(b, t.v[i].value);
        to.v[i].effect = bump_str(b, t.v[i].effect);
    }
    return to;
}

static size_t rules_size(const struct select_rule *r, size_t n) {
    size_t size = bump_size(n * sizeof(*r));
    for (size_t i = 0; i < n; i++) {
        size += bump_size(r[i].key.n) + bump_size(r[i].values.n * sizeof(struct str));
        for (size_t k = 0; k < r[i].values.n; k++) {
            size += bump_size(r[i].values.v[k].n);
        }
    }
    return size;
}

static struct select_rule *rules_copy(struct bump *b, const struct select_rule *r, size_t n) {
    struct select_rule *to = bump_alloc(b, n * sizeof(*r));
    for (size_t i = 0; i < n; i++) {
        to[i] = r[i];
        to[i].key = bump_str(b, r[i].key);
        to[i].values.v = bump_alloc(b, r[i].values.n * sizeof(struct str));
        for (size_t k = 0; k < r[i].values.n; k++) {
            to[i].values.v[k] = bump_str(b, r[i].values.v[k]);
        }
    }
    return to;
}

size_t shape_size(const struct shape *s) {
    size_t n =
        str_map_size(s->selector) + tolerations_size(s->tolerations) + bump_size(s->together.n);
    n += bump_size(s->n_terms * sizeof(*s->terms));
    for (size_t i = 0; i < s->n_terms; i++) {
        n += rules_size(s->terms[i].labels, s->terms[i].n_labels);
        n += rules_size(s->terms[i].fields, s->terms[i].n_fields);
    }
    return n;
}

void shape_copy(struct bump *b, const struct shape *s, struct shape *to) {
    *to = *s;
    to->selector = str_map_copy(b, s->selector);
    to->tolerations = tolerations_copy(b, s->tolerations);
    to->together = bump_str(b, s->together);
    to->terms = bump_alloc(b, s->n_terms * sizeof(*s->terms));
    for (size_t i = 0; i < s->n_terms; i++) {
        to->terms[i] = s->terms[i];
        to->terms[i].labels = rules_copy(b, s->terms[i].labels, s->terms[i].n_labels);
        to->terms[i].fields = rules_copy(b, s->terms[i].fields, s->terms[i].n_fields);
    }
}

size_t flavor_input_size(const struct flavor_input *f) {
    return bump_size(f->name.n) + str_map_size(f->labels) + taints_size(f->taints) +
           tolerations_size(f->tolerations);
}

void flavor_input_copy(struct bump *b, const struct flavor_input *f, struct flavor_input *to) {
    *to = *f;
    to->name = bump_str(b, f->name);
    to->labels = str_map_copy(b, f->labels);
    to->taints = taints_copy(b, f->taints);
    to->tolerations = tolerations_copy(b, f->tolerations);
}

static bool tolerates(const struct toleration *o, const struct taint *t) {
    if (!str_empty(o->effect) && !str_eq(o->effect, t->effect)) {
        return false;
    }
    if (!str_empty(o->key) && !str_eq(o->key, t->key)) {
        return false;
    }
    if (str_is(o->operator, "Exists")) {
        return true;
    }
    if (str_empty(o->key)) {
        return false; /* no key goes with Exists alone */
    }
    int64_t a, b;
    if (str_is(o->operator, "Gt") || str_is(o->operator, "Lt")) {
        return str_to_i64(t->value, &a) && str_to_i64(o->value, &b) &&
               (str_is(o->operator, "Gt") ? a > b : a < b);
    }
    return str_eq(o->value, t->value);
}

bool taint_tolerated(const struct taint *t, struct toleration_list by) {
    for (size_t i = 0; i < by.n; i++) {
        if (tolerates(&by.v[i], t)) {
            return true;
        }
    }
    return false;
}

const struct taint *taints_untolerated(struct taint_list taints, const struct shape *s,
                                       const struct flavor_input *f) {
    for (size_t i = 0; i < taints.n; i++) {
        const struct taint *t = &taints.v[i];
        if (!str_is(t->effect, "NoSchedule") && !str_is(t->effect, "NoExecute")) {
            continue;
        }
        if (!taint_tolerated(t, s->tolerations) &&
            (f == NULL || !taint_tolerated(t, f->tolerations))) {
            return t;
        }
    }
    return NULL;
}

static const struct str *labels_get(struct str_map m, struct str key) {
    for (size_t i = 0; i < m.n; i++) {
        if (str_eq(m.v[i].key, key)) {
            return &m.v[i].value;
        }
    }
    return NULL;
}

static bool rule_holds(const struct select_rule *r, const struct str *value) {
    bool in = false;
    for (size_t i = 0; value != NULL && i < r->values.n; i++) {
        in = in || str_eq(*value, r->values.v[i]);
    }
    int64_t a, b;
    switch (r->op) {
    case SELECT_IN:
        return in;
    case SELECT_NOT_IN:
        return !in;
    case SELECT_EXISTS:
        return value != NULL;
    case SELECT_ABSENT:
        return value == NULL;
    case SELECT_GT:
    case SELECT_LT:
        if (value == NULL || r->values.n != 1 || !str_to_i64(*value, &a) ||
            !str_to_i64(r->values.v[0], &b)) {
            return false;
        }
        return r->op == SELECT_GT ? a > b : a < b;
    }
    return false;
}

bool shape_matches_flavor(const struct shape *s, const struct flavor_input *f) {
    for (size_t i = 0; i < s->selector.n; i++) {
        const struct str *v = labels_get(f->labels, s->selector.v[i].key);
        if (v != NULL && !str_eq(*v, s->selector.v[i].value)) {
            return false;
        }
    }
    if (!s->has_affinity) {
        return true;
    }
    for (size_t i = 0; i < s->n_terms; i++) {
        bool holds = true;
        for (size_t k = 0; k < s->terms[i].n_labels && holds; k++) {
            const struct str *v = labels_get(f->labels, s->terms[i].labels[k].key);
            holds = v == NULL || rule_holds(&s->terms[i].labels[k], v);
        }
        if (holds) { /* also when nothing of the term is about this flavor */
            return true;
        }
    }
    return s->n_terms == 0;
}

bool shape_matches_node(const struct shape *s, const struct flavor_input *f, struct str node_name,
                        struct str_map labels) {
    for (size_t i = 0; i < s->selector.n; i++) {
        const struct str *v = labels_get(labels, s->selector.v[i].key);
        if (v == NULL || !str_eq(*v, s->selector.v[i].value)) {
            return false;
        }
    }
    for (size_t i = 0; f != NULL && i < f->labels.n; i++) {
        const struct str *v = labels_get(labels, f->labels.v[i].key);
        if (v == NULL || !str_eq(*v, f->labels.v[i].value)) {
            return false;
        }
    }
    if (!s->has_affinity) {
        return true;
    }
    for (size_t i = 0; i < s->n_terms; i++) {
        const struct select_term *t = &s->terms[i];
        bool holds = t->n_labels + t->n_fields > 0; /* an empty term selects nothing */
        for (size_t k = 0; k < t->n_labels && holds; k++) {
            holds = rule_holds(&t->labels[k], labels_get(labels, t->labels[k].key));
        }
        for (size_t k = 0; k < t->n_fields && holds; k++) {
            holds =
                str_is(t->fields[k].key, "metadata.name") && rule_holds(&t->fields[k], &node_name);
        }
        if (holds) {
            return true;
        }
    }
    return false;
}

uint64_t hash_mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}

uint64_t hash_str(uint64_t h, struct str s) {
    return hash_mix(hash_mix(h, s.n), str_hash(s));
}

uint64_t hash_guest(uint64_t h, struct str s) {
    return hash_mix(hash_mix(h, s.n), keyed_hash(s));
}

static uint64_t rules_hash(uint64_t h, const struct select_rule *r, size_t n) {
    h = hash_mix(h, n);
    for (size_t i = 0; i < n; i++) {
        h = hash_mix(hash_guest(h, r[i].key), r[i].op);
        h = hash_mix(h, r[i].values.n);
        for (size_t k = 0; k < r[i].values.n; k++) {
            h = hash_guest(h, r[i].values.v[k]);
        }
    }
    return h;
}

uint64_t shape_hash(const struct shape *s, uint64_t h) {
    h = hash_mix(h, s->selector.n);
    for (size_t i = 0; i < s->selector.n; i++) {
        h = hash_guest(hash_guest(h, s->selector.v[i].key), s->selector.v[i].value);
    }
    h = hash_mix(h, s->has_affinity);
    for (size_t i = 0; i < s->n_terms; i++) {
        h = rules_hash(h, s->terms[i].labels, s->terms[i].n_labels);
        h = rules_hash(h, s->terms[i].fields, s->terms[i].n_fields);
    }
    h = hash_mix(h, s->tolerations.n);
    for (size_t i = 0; i < s->tolerations.n; i++) {
        const struct toleration *t = &s->tolerations.v[i];
        h = hash_guest(hash_guest(h, t->key), t->operator);
        h = hash_guest(hash_guest(h, t->value), t->effect);
    }
    return str_empty(s->together) ? h : hash_guest(h, s->together);
}

/* ---- the same ---- */

static bool rules_same(const struct select_rule *a, size_t n, const struct select_rule *b,
                       size_t m) {
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++) {
        same = a[i].op == b[i].op && a[i].values.n == b[i].values.n && str_eq(a[i].key, b[i].key);
        for (size_t k = 0; same && k < a[i].values.n; k++) {
            same = str_eq(a[i].values.v[k], b[i].values.v[k]);
        }
    }
    return same;
}

bool shape_same(const struct shape *a, const struct shape *b) {
    bool same = a->selector.n == b->selector.n && a->has_affinity == b->has_affinity &&
                a->n_terms == b->n_terms && a->tolerations.n == b->tolerations.n &&
                str_eq(a->together, b->together);
    for (size_t i = 0; same && i < a->selector.n; i++) {
        same = str_eq(a->selector.v[i].key, b->selector.v[i].key) &&
               str_eq(a->selector.v[i].value, b->selector.v[i].value);
    }
    for (size_t i = 0; same && i < a->n_terms; i++) {
        const struct select_term *x = &a->terms[i], *y = &b->terms[i];
        same = rules_same(x->labels, x->n_labels, y->labels, y->n_labels) &&
               rules_same(x->fields, x->n_fields, y->fields, y->n_fields);
    }
    for (size_t i = 0; same && i < a->tolerations.n; i++) {
        const struct toleration *x = &a->tolerations.v[i], *y = &b->tolerations.v[i];
        same = str_eq(x->key, y->key) && str_eq(x->operator, y->operator) &&
               str_eq(x->value, y->value) && str_eq(x->effect, y->effect);
    }
    return same;
}

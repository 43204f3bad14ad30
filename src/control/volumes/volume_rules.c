/* volume_rules: see volume_rules.h. */
#include "control/volumes/volume_rules.h"

#include "api/tables/storage.h"

struct quantity rules_storage(const struct quantity_map *m) {
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        if (str_is(m->v[i].key, "storage")) {
            return m->v[i].value;
        }
    }
    return (struct quantity){0};
}

struct quantity rules_asked(const struct claim *c) {
    return rules_storage(
        c->spec != NULL && c->spec->resources != NULL ? &c->spec->resources->requests : NULL);
}

bool rules_refers(const struct persistent_volume *v, struct str ns, struct str name,
                  struct str uid) {
    const struct object_reference *ref = v->spec != NULL ? v->spec->claim_ref : NULL;
    return ref != NULL && str_eq(ref->namespace, ns) && str_eq(ref->name, name) &&
           (str_empty(ref->uid) || str_eq(ref->uid, uid));
}

bool rules_is_loose(const struct persistent_volume *v) {
    return v->spec != NULL && (v->spec->claim_ref == NULL || str_empty(v->spec->claim_ref->uid));
}

static bool has(const struct str_list *l, struct str s) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], s)) {
            return true;
        }
    }
    return false;
}

static bool holds(const struct label_requirement *q, const struct str_map *labels) {
    const struct str *value = NULL;
    for (size_t i = 0; i < labels->n; i++) {
        value = str_eq(labels->v[i].key, q->key) ? &labels->v[i].value : value;
    }
    bool in = value != NULL && has(&q->values, *value);
    return str_is(q->operator, "In")       ? in
           : str_is(q->operator, "NotIn")  ? !in
           : str_is(q->operator, "Exists") ? value != NULL
                                           : value == NULL;
}

static bool selects(const struct label_selector *s, const struct meta *m) {
    const struct str_map none = {0}, *labels = m != NULL ? &m->labels : &none;
    bool all = true;
    for (size_t i = 0; s != NULL && all && i < s->match_labels.n; i++) {
        const struct str_pair *p = &s->match_labels.v[i];
        const struct label_requirement q = {
            .key = p->key, .operator= STR("In"), .values = {(struct str *)&p->value, 1}};
        all = holds(&q, labels);
    }
    for (size_t i = 0; s != NULL && all && i < s->match_expressions.n; i++) {
        all = holds(&s->match_expressions.v[i], labels);
    }
    return all;
}

const char *rules_misfit(const struct claim *c, const struct persistent_volume *v) {
    if (c->spec == NULL || v->spec == NULL) {
        return "it has no spec";
    }
    for (size_t i = 0; i < c->spec->access_modes.n; i++) {
        if (!has(&v->spec->access_modes, c->spec->access_modes.v[i])) {
            return "incompatible accessMode";
        }
    }
    if (!str_eq(c->spec->volume_mode, v->spec->volume_mode)) {
        return "incompatible volumeMode";
    }
    if (!str_eq(c->spec->storage_class_name, v->spec->storage_class_name)) {
        return "storageClassName does not match";
    }
    if (quantity_cmp(rules_storage(&v->spec->capacity), rules_asked(c)) < 0) {
        return "requested PV is too small";
    }
    return selects(c->spec->selector, v->metadata) ? NULL : "the claim's selector does not match";
}

bool rules_is_better(const struct persistent_volume *a, const struct persistent_volume *b) {
    if (b == NULL) {
        return true;
    }
    int by_size =
        quantity_cmp(rules_storage(&a->spec->capacity), rules_storage(&b->spec->capacity));
    return by_size != 0 ? by_size < 0 : str_cmp(a->metadata->name, b->metadata->name) < 0;
}

struct str rules_node(const struct persistent_volume *v) {
    const struct node_selector_view *s =
        v->spec != NULL && v->spec->node_affinity != NULL ? v->spec->node_affinity->required : NULL;
    for (size_t i = 0; s != NULL && s->node_selector_terms.n == 1 &&
                       i < s->node_selector_terms.v[0].match_expressions.n;
         i++) {
        const struct node_requirement *q = &s->node_selector_terms.v[0].match_expressions.v[i];
        if (str_is(q->key, STORAGE_HOSTNAME) && str_is(q->operator, "In") && q->values.n == 1) {
            return q->values.v[0];
        }
    }
    return (struct str){0};
}

/*
 * hpa_text: a label selector in the form in which it stands in conditions and events, and whether two statuses say the
 * same.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "core/scale/hpa_private.h"

static int by_key(const void *x, const void *y) {
    const struct str_pair *const *a = x, *const *b = y;
    return str_cmp((*a)->key, (*b)->key);
}

static void labels_text(struct buf *b, struct arena *a, const struct str_map *m) {
    const struct str_pair **sorted = ARENA_ARRAY(a, const struct str_pair *, m->n + 1);
    for (size_t i = 0; sorted != NULL && i < m->n; i++) {
        sorted[i] = &m->v[i];
    }
    if (sorted != NULL) {
        qsort(sorted, m->n, sizeof(*sorted), by_key);
        for (size_t i = 0; i < m->n; i++) {
            buf_f(b, "%.*s: %.*s,", STR_ARG(sorted[i]->key), STR_ARG(sorted[i]->value));
        }
    }
}

struct str hpa_selector_text(struct arena *a, const struct label_selector *s) {
    struct buf b;
    if (s == NULL) {
        return STR("nil");
    }
    buf_init(&b, 0);
    buf_c(&b, "&LabelSelector{MatchLabels:map[string]string{");
    labels_text(&b, a, &s->match_labels);
    buf_c(&b, "},MatchExpressions:[]LabelSelectorRequirement{");
    for (size_t i = 0; i < s->match_expressions.n; i++) {
        const struct label_requirement *r = &s->match_expressions.v[i];
        buf_f(&b, "LabelSelectorRequirement{Key:%.*s,Operator:%.*s,Values:[", STR_ARG(r->key),
              STR_ARG(r->operator));
        for (size_t j = 0; j < r->values.n; j++) {
            buf_f(&b, "%s%.*s", j ? " " : "", STR_ARG(r->values.v[j]));
        }
        buf_c(&b, "],},");
    }
    buf_c(&b, "},}");
    struct str text = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){NULL, 0};
    buf_release(&b);
    return text;
}

static bool amount_equal(const struct opt_quantity *a, const struct opt_quantity *b) {
    return a->set == b->set && (!a->set || quantity_cmp(a->v, b->v) == 0);
}

static bool target_equal(const struct hpa_target *a, const struct hpa_target *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return str_eq(a->type, b->type) && amount_equal(&a->value, &b->value) &&
           amount_equal(&a->average_value, &b->average_value) &&
           a->average_utilization.set == b->average_utilization.set &&
           a->average_utilization.v == b->average_utilization.v;
}

static bool value_equal(const struct hpa_value *a, const struct hpa_value *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return amount_equal(&a->value, &b->value) &&
           amount_equal(&a->average_value, &b->average_value) &&
           a->average_utilization.set == b->average_utilization.set &&
           a->average_utilization.v == b->average_utilization.v;
}

static bool pairs_equal(const struct str_map *a, const struct str_map *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        size_t j = 0;
        while (j < b->n && !str_eq(a->v[i].key, b->v[j].key)) {
            j++;
        }
        same = j < b->n && str_eq(a->v[i].value, b->v[j].value);
    }
    return same;
}

static bool selector_equal(const struct label_selector *a, const struct label_selector *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    bool same = pairs_equal(&a->match_labels, &b->match_labels) &&
                a->match_expressions.n == b->match_expressions.n;
    for (size_t i = 0; same && i < a->match_expressions.n; i++) {
        const struct label_requirement *x = &a->match_expressions.v[i];
        const struct label_requirement *y = &b->match_expressions.v[i];
        same = str_eq(x->key, y->key) && str_eq(x->operator, y->operator) &&
               x->values.n == y->values.n;
        for (size_t j = 0; same && j < x->values.n; j++) {
            same = str_eq(x->values.v[j], y->values.v[j]);
        }
    }
    return same;
}

static bool name_equal(const struct hpa_metric_name *a, const struct hpa_metric_name *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return str_eq(a->name, b->name) && selector_equal(a->selector, b->selector);
}

static bool object_equal(const struct hpa_object_source *a, const struct hpa_object_source *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    const struct scaled_ref *x = a->described_object, *y = b->described_object;
    return name_equal(a->metric, b->metric) && value_equal(a->current, b->current) &&
           target_equal(a->target, b->target) &&
           (x == NULL || y == NULL ? x == y
                                   : str_eq(x->name, y->name) && str_eq(x->kind, y->kind) &&
                                         str_eq(x->api_version, y->api_version));
}

static bool plain_equal(const struct hpa_plain_source *a, const struct hpa_plain_source *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return name_equal(a->metric, b->metric) && value_equal(a->current, b->current) &&
           target_equal(a->target, b->target);
}

static bool resource_equal(const struct hpa_resource_source *a,
                           const struct hpa_resource_source *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    return str_eq(a->name, b->name) && str_eq(a->container, b->container) &&
           value_equal(a->current, b->current) && target_equal(a->target, b->target);
}

bool hpa_metric_same(const struct hpa_metric *a, const struct hpa_metric *b) {
    return str_eq(a->type, b->type) && object_equal(a->object, b->object) &&
           plain_equal(a->pods, b->pods) && plain_equal(a->external, b->external) &&
           resource_equal(a->resource, b->resource) &&
           resource_equal(a->container_resource, b->container_resource);
}

bool hpa_status_same(const struct hpa_status *a, const struct hpa_status *b) {
    bool same =
        a->observed_generation == b->observed_generation && a->last_scale_ns == b->last_scale_ns &&
        a->current_replicas == b->current_replicas && a->desired_replicas == b->desired_replicas &&
        a->current_metrics.n == b->current_metrics.n && a->conditions.n == b->conditions.n;
    for (size_t i = 0; same && i < a->current_metrics.n; i++) {
        same = hpa_metric_same(&a->current_metrics.v[i], &b->current_metrics.v[i]);
    }
    for (size_t i = 0; same && i < a->conditions.n; i++) {
        const struct condition *x = &a->conditions.v[i], *y = &b->conditions.v[i];
        same = str_eq(x->type, y->type) && str_eq(x->status, y->status) &&
               str_eq(x->reason, y->reason) && str_eq(x->message, y->message) &&
               x->last_transition_ns == y->last_transition_ns;
    }
    return same;
}

struct str hpa_version_error(struct arena *a, struct str api_version) {
    size_t slashes = 0;
    for (size_t i = 0; i < api_version.n; i++) {
        slashes += api_version.p[i] == '/';
    }
    return slashes < 2 ? (struct str){NULL, 0}
                       : arena_f(a, "unexpected GroupVersion string: %.*s", STR_ARG(api_version));
}

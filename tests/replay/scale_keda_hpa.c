/*
 * scale_keda_hpa: the HorizontalPodAutoscaler that follows from a ScaledObject.
 */
#include "api/schema/codec.h"
#include "core/scale/hpa.h"
#include "core/scale/keda_hpa.h"
#include "scale_case.h"

static bool pairs_agree(const struct str_map *got, yyjson_val *want, const char *free) {
    size_t i, max, n = 0;
    yyjson_val *key, *value;
    bool ok = true;
    if (yyjson_is_obj(want)) {
        yyjson_obj_foreach(want, i, max, key, value) {
            bool found = free != NULL && str_is(json_str(key), free);
            for (size_t j = 0; j < got->n; j++) {
                found = found || (str_eq(got->v[j].key, json_str(key)) &&
                                  str_eq(got->v[j].value, json_str(value)));
            }
            ok = ok && found;
            n++;
        }
    }
    return ok && n == got->n;
}

static bool names_agree(const struct str_list *got, yyjson_val *want) {
    bool ok = got->n == yyjson_arr_size(want);
    for (size_t i = 0; ok && i < got->n; i++) {
        ok = str_eq(got->v[i], json_str(yyjson_arr_get(want, i)));
    }
    return ok;
}

static bool rules_agree(const struct hpa_rules *a, const struct hpa_rules *b) {
    if (a == NULL || b == NULL) {
        return a == b;
    }
    bool same = a->stabilization_window_seconds.set == b->stabilization_window_seconds.set &&
                a->stabilization_window_seconds.v == b->stabilization_window_seconds.v &&
                str_eq(a->select_policy, b->select_policy) && a->policies.n == b->policies.n &&
                a->tolerance.set == b->tolerance.set &&
                (!a->tolerance.set || quantity_cmp(a->tolerance.v, b->tolerance.v) == 0);
    for (size_t i = 0; same && i < a->policies.n; i++) {
        const struct hpa_policy *p = &a->policies.v[i], *q = &b->policies.v[i];
        same = str_eq(p->type, q->type) && p->value == q->value &&
               p->period_seconds == q->period_seconds;
    }
    return same;
}

static bool spec_agrees(const struct hpa_spec *got, yyjson_val *want, struct arena *a,
                        struct buf *difference) {
    static const struct hpa_behavior none;
    yyjson_val *list = json_get(want, STR("metrics"));
    struct hpa_spec s;
    struct err err = {0};
    if (codec_decode(&schema_hpa_spec, want, a, &s, &err) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    const struct scaled_ref *x = s.scale_target_ref, *y = got->scale_target_ref;
    const struct hpa_behavior *p = s.behavior ? s.behavior : &none;
    const struct hpa_behavior *q = got->behavior ? got->behavior : &none;
    bool ok = str_eq(x->name, y->name) && str_eq(x->kind, y->kind) &&
              str_eq(x->api_version, y->api_version) && s.min_replicas.v == got->min_replicas.v &&
              s.max_replicas == got->max_replicas;
    ok = ok || scale_differs(difference, "target or bounds");
    if (!rules_agree(p->scale_up, q->scale_up) || !rules_agree(p->scale_down, q->scale_down) ||
        (s.behavior == NULL) != (got->behavior == NULL)) {
        ok = scale_differs(difference, "behavior");
    }
    if (yyjson_arr_size(list) != got->metrics.n) {
        return scale_differs(difference, "%zu metrics", got->metrics.n);
    }
    for (size_t i = 0; i < got->metrics.n; i++) {
        ok = (scale_metric_agrees(&got->metrics.v[i], yyjson_arr_get(list, i), a) ||
              scale_differs(difference, "metric %zu", i)) &&
             ok;
    }
    return ok;
}

static bool owner_agrees(const struct meta *m, yyjson_val *list) {
    const struct owner_reference *o = m->owner_references.v;
    yyjson_val *v = yyjson_arr_get_first(list);
    return yyjson_arr_size(list) == 1 && m->owner_references.n == 1 &&
           str_eq(o->api_version, json_str_at(v, "apiVersion")) &&
           str_eq(o->kind, json_str_at(v, "kind")) && str_eq(o->name, json_str_at(v, "name")) &&
           str_eq(o->uid, json_str_at(v, "uid")) &&
           o->controller.v == json_bool_at(v, "controller", false) &&
           o->block_owner_deletion.v == json_bool_at(v, "blockOwnerDeletion", false);
}

bool scale_keda_hpa(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *want = json_get(c, STR("hpa")), *target = json_get(c, STR("scaleTarget"));
    struct scaled_object so;
    struct keda_hpa h;
    struct err err = {0};
    if (codec_decode(&schema_scaled_object, json_get(c, STR("scaledObject")), a, &so, &err) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    int rc = keda_hpa_make(&so, json_str_at(target, "apiVersion"), json_str_at(target, "kind"),
                           NULL, a, &h, &err);
    if (rc != 0 || want == NULL) {
        return (rc != 0 && want == NULL) || scale_differs(difference, "%s", err.text);
    }
    bool ok = str_eq(h.metadata.name, json_str_at(want, "name")) ||
              scale_differs(difference, "name %.*s", STR_ARG(h.metadata.name));
    ok = (pairs_agree(&h.metadata.labels, json_get(want, STR("labels")),
                      "app.kubernetes.io/version") ||
          scale_differs(difference, "labels")) &&
         ok;
    ok = (pairs_agree(&h.metadata.annotations, json_get(want, STR("annotations")), NULL) ||
          scale_differs(difference, "annotations")) &&
         ok;
    ok = (owner_agrees(&h.metadata, json_get(want, STR("ownerReferences"))) ||
          scale_differs(difference, "owner")) &&
         ok;
    ok = (names_agree(&h.external_names, json_get(want, STR("statusExternalMetricNames"))) &&
          names_agree(&h.resource_names, json_get(want, STR("statusResourceMetricNames"))) &&
          str_eq(h.composite, json_str_at(want, "statusCompositeScalerName"))) ||
                 scale_differs(difference, "names for the status")
             ? ok
             : false;
    return spec_agrees(&h.spec, json_get(want, STR("spec")), a, difference) && ok;
}

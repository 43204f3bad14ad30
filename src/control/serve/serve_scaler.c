/*
 * serve_scaler: the HorizontalPodAutoscaler of a service, as KServe makes it: NAME-predictor, for services with more
 * replicas at most than at least, unless annotation serving.kserve.io/autoscalerClass says that somebody else scales.
 *
 * Its metrics are the Resource metrics of spec.predictor.autoScaling, or scaleMetric (cpu or memory) with scaleTarget,
 * or the processors, 80 %, where the server asks for some: without a request there is nothing to compare with. It has
 * at least one replica: from zero and to zero is the gateway's.
 */
#include "api/meta.h"
#include "control/kit/apply.h"
#include "control/serve/serve_private.h"

#define CLASS "serving.kserve.io/autoscalerClass"
#define TARGET "serving.kserve.io/targetUtilizationPercentage"

enum { UTILIZATION = 80 };

bool serve_scales_by(struct str metric) {
    return metric.n == 0 || str_is(metric, "cpu") || str_is(metric, "memory");
}

/* ---- metrics ---- */

static bool is_resource(yyjson_val *metric) {
    return str_is(json_str_at(metric, "type"), "Resource");
}

static void add_given(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *list) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *m;
    while ((m = yyjson_arr_iter_next(&it)) != NULL) {
        if (is_resource(m)) {
            yyjson_mut_arr_append(to, yyjson_val_mut_copy(d, m));
        }
    }
}

static bool asks_processors(const struct serve_look *l) {
    yyjson_mut_val *list = json_mpath(l->template, "spec.containers"), *c;
    size_t i, n;
    yyjson_mut_arr_foreach(list, i, n, c) {
        if (json_mpath(c, "resources.requests.cpu") || json_mpath(c, "resources.limits.cpu")) {
            return true;
        }
    }
    return false;
}

static int64_t target_of(const struct serve_look *l) {
    int64_t n = json_i64_at(l->spec, "predictor.scaleTarget", 0);
    if (n == 0 && (!str_to_i64(meta_annotation(l->view.metadata, TARGET), &n) || n < 1)) {
        n = UTILIZATION;
    }
    return n;
}

static void add_simple(const struct serve_look *l, yyjson_mut_doc *d, yyjson_mut_val *to) {
    struct str metric = json_str_at(l->spec, "predictor.scaleMetric");
    bool value = str_is(json_str_at(l->spec, "predictor.scaleMetricType"), "AverageValue");
    if (!serve_scales_by(metric) || (metric.n == 0 && !asks_processors(l))) {
        return;
    }
    yyjson_mut_val *m = yyjson_mut_arr_add_obj(d, to);
    yyjson_mut_val *resource = json_mensure(d, m, "resource");
    yyjson_mut_val *target = json_mensure(d, resource, "target");
    json_mset_str(d, m, "type", STR("Resource"));
    json_mset_str(d, resource, "name", metric.n ? metric : STR("cpu"));
    json_mset_str(d, target, "type", value ? STR("AverageValue") : STR("Utilization"));
    if (value) {
        json_mset_str(d, target, "averageValue", arena_f(l->a, "%lld", (long long)target_of(l)));
    } else {
        json_mset_i64(d, target, "averageUtilization", target_of(l));
    }
}

/* ---- the object ---- */

/* NULL: none is wanted, or out of memory, which the arena tells. */
static yyjson_mut_val *spec_of(struct serve_look *l, yyjson_mut_doc *d) {
    struct str class = meta_annotation(l->view.metadata, CLASS);
    yyjson_val *given = json_path(l->spec, "predictor.autoScaling.metrics");
    yyjson_val *behavior = json_path(l->spec, "predictor.autoScaling.behavior");
    yyjson_mut_val *metrics = yyjson_mut_arr(d);
    if (l->llm || l->max <= (l->min < 1 ? 1 : l->min) || (class.n > 0 && !str_is(class, "hpa"))) {
        return NULL;
    }
    if (yyjson_arr_size(given) > 0) {
        add_given(d, metrics, given);
    } else {
        add_simple(l, d, metrics);
    }
    if (yyjson_mut_arr_size(metrics) == 0) {
        return NULL;
    }
    yyjson_mut_val *spec = yyjson_mut_obj(d), *ref = json_mensure(d, spec, "scaleTargetRef");
    json_mset_str(d, ref, "apiVersion", STR("apps/v1"));
    json_mset_str(d, ref, "kind", STR("Deployment"));
    json_mset_str(d, ref, "name", l->stable.name);
    json_mset_i64(d, spec, "minReplicas", l->min < 1 ? 1 : l->min);
    json_mset_i64(d, spec, "maxReplicas", l->max);
    json_mset(d, spec, STR("metrics"), metrics);
    if (behavior != NULL) {
        json_mset(d, spec, STR("behavior"), yyjson_val_mut_copy(d, behavior));
    }
    return spec;
}

static struct str digest_of(struct serve_look *l, yyjson_mut_val *spec) {
    struct buf b;
    buf_init(&b, 1 << 20);
    json_write_mut(&b, spec);
    struct str s = arena_f(l->a, "%016llx", (unsigned long long)str_hash(buf_view(&b)));
    buf_release(&b);
    return s;
}

static bool is_same(struct serve_look *l, yyjson_mut_doc *d, struct str digest) {
    yyjson_mut_val *notes = json_mpath(d->root, "metadata.annotations");
    return str_eq(json_mstr(json_mget(notes, STR(APPLY_INTENT))), digest);
}

void serve_put_scaler(struct serve_look *l) {
    const struct kind *k = l->c->base.kinds[SERVE_SCALERS];
    const struct object *o = serve_get(l, SERVE_SCALERS, l->obj->ns, l->stable.name);
    yyjson_val *was = NULL;
    if (k == NULL || (o != NULL && !serve_owns(l, o))) {
        return; /* somebody scales it already */
    }
    yyjson_mut_doc *d = serve_tree(l, k, o, l->stable.name, &was);
    yyjson_mut_val *spec = d ? spec_of(l, d) : NULL;
    if (d == NULL || arena_ok(l->a) != 0) {
        round_fail(l->round, ERR_NOMEM);
    } else if (spec == NULL) {
        serve_remove_one(l, SERVE_SCALERS, l->stable.name);
    } else {
        struct str digest = digest_of(l, spec);
        if (!is_same(l, d, digest)) {
            json_mset_str(d, json_mensure(d, d->root, "metadata.annotations"), APPLY_INTENT,
                          digest);
            json_mset(d, d->root, STR("spec"), spec);
            serve_write(l, k, o, was, d);
        }
    }
}

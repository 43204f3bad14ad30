/*
 * scale_hpa: looks of a HorizontalPodAutoscaler's controller, tick by tick: what is read at each is written in the
 * case, the controller's memory goes on from tick to tick.
 */
#include "api/schema/codec.h"
#include "core/scale/hpa.h"
#include "scale_case.h"
#include "wire/text/time.h"

#define SECOND INT64_C(1000000000)
#define EACH(v_, of_)                                                                              \
    size_t i_##v_ = 0;                                                                             \
    i_##v_ < yyjson_arr_size(of_) && ((v_) = yyjson_arr_get((of_), i_##v_)) != NULL;               \
    i_##v_++

struct hpa_replay {
    yyjson_val *c;
    struct arena *a;
    struct buf *difference;
    int64_t start_ns;
    struct hpa_config config;
    struct hpa_spec spec;
    struct hpa_memory memory;
    struct hpa_status status; /* as of the last tick */
    yyjson_val *conditions;   /* as written last */
    struct hpa_pod *pods;
    size_t n_pods;
    int64_t at;
};

static int64_t at_ns(const struct hpa_replay *r, yyjson_val *seconds) {
    return r->start_ns + yyjson_get_sint(seconds) * SECOND;
}

static struct quantity_map amounts(struct arena *a, yyjson_val *v) {
    struct quantity_map m = {ARENA_ARRAY(a, struct quantity_pair, yyjson_obj_size(v) + 1), 0};
    size_t i, max;
    yyjson_val *key, *value;
    yyjson_obj_foreach(v, i, max, key, value) {
        m.v[m.n].key = json_str(key);
        if (quantity_parse(json_str(value), &m.v[m.n].value, NULL) == 0) {
            m.n++;
        }
    }
    return m;
}

static int64_t milli(yyjson_val *v) {
    struct quantity q = {0};
    return quantity_parse(json_str(v), &q, NULL) == 0 ? quantity_milli(q) : 0;
}

/* ---- what is read ---- */

static void read_template(struct hpa_replay *r, yyjson_val *t, struct hpa_pod *p) {
    yyjson_val *list = json_get(t, STR("containers")), *v, *whole = json_get(t, STR("podRequests"));
    struct hpa_container *c = ARENA_ARRAY(r->a, struct hpa_container, yyjson_arr_size(list) + 1);
    for (EACH(v, list)) {
        yyjson_val *requests = json_get(v, STR("requests"));
        c[p->n_containers++] = (struct hpa_container){
            .name = json_str_at(v, "name"),
            .requests = requests != NULL ? amounts(r->a, requests) : (struct quantity_map){NULL, 0},
            .init = json_bool_at(v, "init", false),
            .sidecar = json_bool_at(v, "restartableInit", false),
        };
    }
    p->containers = c;
    if (whole != NULL) {
        struct quantity_map *m = ARENA_NEW(r->a, struct quantity_map);
        *m = amounts(r->a, whole);
        p->requests = m;
    }
}

static void read_pods(struct hpa_replay *r, yyjson_val *list) {
    static struct str_pair web = {{"app", 3}, {"web", 3}};
    static const struct str_map labels = {&web, 1};
    yyjson_val *v, *templates = json_get(r->c, STR("podTemplates"));
    r->pods = ARENA_ARRAY(r->a, struct hpa_pod, yyjson_arr_size(list) + 1);
    r->n_pods = 0;
    for (EACH(v, list)) {
        struct hpa_pod *p = &r->pods[r->n_pods++];
        struct str ready = json_str_at(v, "ready");
        yyjson_val *start = json_get(v, STR("startTime"));
        p->name = json_str_at(v, "name");
        p->phase = json_str_at(v, "phase");
        p->labels = &labels;
        p->deleted = json_bool_at(v, "deleted", false);
        p->started = start != NULL;
        p->start_ns = at_ns(r, start);
        p->ready = ready.n == 0             ? HPA_READY_UNSET
                   : str_is(ready, "True")  ? HPA_READY_TRUE
                   : str_is(ready, "False") ? HPA_READY_FALSE
                                            : HPA_READY_UNKNOWN;
        p->ready_since_ns = at_ns(r, json_get(v, STR("readySince")));
        read_template(r, yyjson_arr_get(templates, (size_t)json_i64_at(v, "template", 0)), p);
    }
}

static void read_use(struct hpa_replay *r, yyjson_val *v, struct hpa_use *ret) {
    yyjson_val *items = json_get(v, STR("items")), *item;
    struct hpa_pod_use *use = ARENA_ARRAY(r->a, struct hpa_pod_use, yyjson_arr_size(items) + 1);
    *ret = (struct hpa_use){.error = json_str_at(v, "error"), .v = use};
    for (EACH(item, items)) {
        yyjson_val *containers = json_get(item, STR("containers")), *key, *value;
        struct hpa_container_use *c =
            ARENA_ARRAY(r->a, struct hpa_container_use, yyjson_obj_size(containers) + 1);
        struct hpa_pod_use *u = &use[ret->n++];
        size_t i, max;
        *u = (struct hpa_pod_use){.pod = json_str_at(item, "pod"),
                                  .at_ns = at_ns(r, json_get(item, STR("timestamp"))),
                                  .window_ns = json_i64_at(item, "window", 0) * SECOND,
                                  .containers = c};
        yyjson_obj_foreach(containers, i, max, key, value) {
            c[u->n++] = (struct hpa_container_use){json_str(key), amounts(r->a, value)};
        }
    }
}

static void read_metric(struct hpa_replay *r, yyjson_val *tick, const struct hpa_metric *m,
                        struct hpa_reading *ret) {
    bool pods = m->pods != NULL, object = m->object != NULL;
    const struct hpa_metric_name *name = pods          ? m->pods->metric
                                         : object      ? m->object->metric
                                         : m->external ? m->external->metric
                                                       : NULL;
    yyjson_val *served = json_get(tick, pods     ? STR("podsMetrics")
                                        : object ? STR("objectMetrics")
                                                 : STR("externalMetrics"));
    yyjson_val *v = name != NULL ? json_get(served, name->name) : NULL, *item;
    yyjson_val *items = json_get(v, STR("items")), *values = json_get(v, STR("values"));
    yyjson_val *value = json_get(v, STR("value"));
    size_t n = yyjson_arr_size(items) + yyjson_arr_size(values) + 1;
    struct hpa_sample *samples = ARENA_ARRAY(r->a, struct hpa_sample, n);
    int64_t *numbers = ARENA_ARRAY(r->a, int64_t, n);
    *ret =
        (struct hpa_reading){.error = v == NULL ? STR("metric not found") : json_str_at(v, "error"),
                             .samples = samples,
                             .values = numbers};
    for (EACH(item, items)) {
        samples[ret->n++] = (struct hpa_sample){.pod = json_str_at(item, "pod"),
                                                .milli = milli(json_get(item, STR("value")))};
    }
    for (EACH(item, values)) {
        numbers[ret->n++] = milli(item);
    }
    if (value != NULL) {
        numbers[ret->n++] = milli(value);
    }
}

/* Why the scale of the target cannot be read; empty: it can. */
static struct str scale_error(struct hpa_replay *r, yyjson_val *scale) {
    yyjson_val *target = json_get(r->c, STR("scaleTargetRef"));
    struct str version = json_str_at(target, "apiVersion"), kind = json_str_at(target, "kind");
    struct str error = hpa_version_error(r->a, version);
    if (error.n == 0 && !(str_is(version, "apps/v1") && str_is(kind, "Deployment"))) {
        error = arena_f(r->a, "no matches for kind \"%.*s\" in group \"%.*s\"", STR_ARG(kind),
                        STR_ARG(str_head(version, (size_t)str_find(version, '/'))));
    }
    return error.n > 0 ? error : json_str_at(scale, "getError");
}

/* ---- what is written ---- */

static bool conditions_agree(struct hpa_replay *r, yyjson_val *want) {
    const struct condition_list *got = &r->status.conditions;
    bool ok = got->n == yyjson_arr_size(want);
    yyjson_val *v;
    for (EACH(v, want)) {
        const struct condition *c = i_v < got->n ? &got->v[i_v] : NULL;
        struct str message = json_str_at(v, "message");
        bool cut = str_is(json_str_at(v, "reason"), "AmbiguousSelector");
        bool free_text = str_starts(message, STR("couldn't convert selector"));
        ok = ok && c != NULL && str_eq(c->type, json_str_at(v, "type")) &&
             str_eq(c->status, json_str_at(v, "status")) &&
             str_eq(c->reason, json_str_at(v, "reason")) &&
             (cut         ? str_starts(c->message, message)
              : free_text ? str_starts(c->message, STR("couldn't convert selector"))
                          : str_eq(c->message, message)) &&
             c->last_transition_ns == at_ns(r, json_get(v, STR("lastTransition")));
        if (!ok) {
            return scale_differs(r->difference, "%lld: condition %zu: %.*s %.*s %.*s: %.*s",
                                 (long long)r->at, i_v, STR_ARG(c ? c->type : STR("none")),
                                 STR_ARG(c ? c->status : STR("")), STR_ARG(c ? c->reason : STR("")),
                                 STR_ARG(c ? c->message : STR("")));
        }
    }
    return ok || scale_differs(r->difference, "%lld: %zu conditions", (long long)r->at, got->n);
}

/* "*" stands for an amount that is not defined: here it is left out. */
static void define(yyjson_mut_val *v) {
    size_t i, max;
    yyjson_mut_val *key, *value;
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, max, value) {
            define(value);
        }
    } else if (yyjson_mut_is_obj(v)) {
        if (str_is(json_mstr_at(v, "averageValue"), "*")) {
            json_mdel(v, STR("averageValue"));
        }
        yyjson_mut_obj_foreach(v, i, max, key, value) {
            define(value);
            (void)key;
        }
    }
}

static bool status_agrees(struct hpa_replay *r, yyjson_val *want) {
    struct hpa_status expected, got = r->status;
    struct err err = {0};
    yyjson_val *scaled = json_get(want, STR("lastScaleTime"));
    yyjson_val *conditions = json_get(want, STR("conditions"));
    yyjson_mut_doc *d = json_mut_copy(r->a, want);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    yyjson_doc *plain;
    json_mdel(root, STR("lastScaleTime"));
    json_mdel(root, STR("conditions"));
    define(root);
    struct buf text;
    buf_init(&text, 0);
    json_write_mut(&text, root);
    int rc = json_parse(r->a, arena_str(r->a, buf_view(&text)), &plain, &err);
    rc = rc ? rc
            : codec_decode(&schema_hpa_status, yyjson_doc_get_root(plain), r->a, &expected, &err);
    buf_release(&text);
    if (rc != 0) {
        return scale_differs(r->difference, "%lld: %s", (long long)r->at, err.text);
    }
    r->conditions = yyjson_is_arr(conditions) ? conditions : r->conditions;
    got.conditions = (struct condition_list){NULL, 0};
    expected.last_scale_ns = scaled != NULL ? at_ns(r, scaled) : 0;
    bool same = hpa_status_same(&expected, &got);
    if (!same) {
        scale_differs(r->difference, "%lld: status: %d desired %d, %zu metrics, scaled %lld",
                      (long long)r->at, got.current_replicas, got.desired_replicas,
                      got.current_metrics.n,
                      (long long)((got.last_scale_ns - r->start_ns) / SECOND));
    }
    return conditions_agree(r, r->conditions) && same;
}

static bool events_agree(struct hpa_replay *r, const struct hpa_answer *got, yyjson_val *want) {
    bool ok = got->n_events == yyjson_arr_size(want);
    yyjson_val *v;
    for (EACH(v, want)) {
        const struct hpa_event *e = i_v < got->n_events ? &got->events[i_v] : NULL;
        ok = ok && e != NULL && str_is(json_str_at(v, "reason"), e->reason) &&
             str_is(json_str_at(v, "type"), e->warning ? "Warning" : "Normal") &&
             (!str_is(json_str_at(v, "reason"), "SuccessfulRescale") ||
              str_eq(json_str_at(v, "message"), e->message));
    }
    for (size_t i = 0; !ok && i < got->n_events; i++) {
        scale_differs(r->difference, "%lld: event %s: %.*s", (long long)r->at,
                      got->events[i].reason, STR_ARG(got->events[i].message));
    }
    return ok || scale_differs(r->difference, "%lld: %zu events", (long long)r->at, got->n_events);
}

static bool answer_agrees(struct hpa_replay *r, const struct hpa_answer *got, yyjson_val *want) {
    yyjson_val *to = json_get(want, STR("scaleTo"));
    bool ok = true;
    if (got->write != (to != NULL) || (got->write && got->replicas != yyjson_get_sint(to))) {
        ok = scale_differs(r->difference, "%lld: scaleTo %s %d", (long long)r->at,
                           got->write ? "is" : "is not", got->replicas);
    }
    if ((got->failure.n > 0) != json_bool_at(want, "failed", false)) {
        ok = scale_differs(r->difference, "%lld: failed: \"%.*s\"", (long long)r->at,
                           STR_ARG(got->failure));
    }
    if (got->status_changed != json_bool_at(want, "statusWritten", false)) {
        ok = scale_differs(r->difference, "%lld: status %swritten", (long long)r->at,
                           got->status_changed ? "" : "not ");
    }
    ok = events_agree(r, got, json_get(want, STR("events"))) && ok;
    yyjson_val *status = json_get(want, STR("status"));
    return (status == NULL || status_agrees(r, status)) && ok;
}

/* ---- ticks ---- */

static int read_spec(struct hpa_replay *r, yyjson_val *v) {
    struct err err = {0};
    int rc = codec_decode(&schema_hpa_spec, v, r->a, &r->spec, &err);
    if (rc != 0) {
        scale_differs(r->difference, "spec: %s", err.text);
    }
    return rc;
}

static bool tick(struct hpa_replay *r, yyjson_val *t) {
    yyjson_val *scale = json_get(t, STR("scale")), *v, *rivals = json_get(t, STR("rivalHPAs"));
    struct hpa_rival *others = ARENA_ARRAY(r->a, struct hpa_rival, yyjson_arr_size(rivals) + 1);
    struct hpa_reading *readings = ARENA_ARRAY(r->a, struct hpa_reading, r->spec.metrics.n + 1);
    struct hpa_use use;
    struct hpa_answer answer;
    read_use(r, json_get(t, STR("resourceMetrics")), &use);
    for (size_t i = 0; i < r->spec.metrics.n; i++) {
        read_metric(r, t, &r->spec.metrics.v[i], &readings[i]);
    }
    for (EACH(v, rivals)) {
        others[i_v] = (struct hpa_rival){json_str(v), STR("app=web")};
    }
    struct hpa_input in = {
        .namespace = STR("default"),
        .name = STR("web"),
        .spec = &r->spec,
        .status = &r->status,
        .now_ns = r->start_ns + r->at * SECOND,
        .scale_error = scale_error(r, scale),
        .spec_replicas = (int32_t)json_i64_at(scale, "specReplicas", 0),
        .status_replicas = (int32_t)json_i64_at(scale, "statusReplicas", 0),
        .selector = json_str_at(scale, "selector"),
        .pods = r->pods,
        .n_pods = r->n_pods,
        .rivals = others,
        .n_rivals = yyjson_arr_size(rivals),
        .use = &use,
        .readings = readings,
    };
    int rc = hpa_decide(&r->config, &in, &r->memory, r->a, &answer);
    if (rc == 0 && answer.write) {
        rc = hpa_written(&r->config, &in, &r->memory, r->a, json_str_at(scale, "updateError"),
                         &answer);
    }
    r->status = answer.status;
    return rc == 0 && answer_agrees(r, &answer, json_get(t, STR("expect")));
}

static bool ticks(struct hpa_replay *r) {
    yyjson_val *list = json_get(r->c, STR("ticks")), *t;
    bool ok = true;
    for (EACH(t, list)) {
        yyjson_val *pods = json_get(t, STR("pods")), *spec = json_get(t, STR("newSpec"));
        r->at = json_i64_at(t, "at", 0);
        if (json_bool_at(t, "controllerRestart", false)) {
            hpa_memory_release(&r->memory);
        }
        if (pods != NULL) {
            read_pods(r, pods);
        }
        if (spec != NULL && read_spec(r, spec) != 0) {
            return false;
        }
        ok = tick(r, t) && ok;
    }
    return ok && yyjson_arr_size(list) > 0;
}

static void read_status(struct hpa_replay *r) {
    yyjson_val *v = json_get(r->c, STR("initialStatus")), *c;
    yyjson_val *list = json_get(v, STR("conditions")), *scaled = json_get(v, STR("lastScaleTime"));
    struct condition *conditions = ARENA_ARRAY(r->a, struct condition, yyjson_arr_size(list) + 1);
    for (EACH(c, list)) {
        conditions[i_c] =
            (struct condition){.type = json_str_at(c, "type"),
                               .status = json_str_at(c, "status"),
                               .reason = json_str_at(c, "reason"),
                               .message = json_str_at(c, "message"),
                               .last_transition_ns = at_ns(r, json_get(c, STR("lastTransition")))};
    }
    r->conditions = list;
    r->status =
        (struct hpa_status){.current_replicas = (int32_t)json_i64_at(v, "currentReplicas", 0),
                            .desired_replicas = (int32_t)json_i64_at(v, "desiredReplicas", 0),
                            .last_scale_ns = scaled != NULL ? at_ns(r, scaled) : 0,
                            .conditions = {conditions, yyjson_arr_size(list)}};
}

bool scale_hpa(yyjson_val *c, struct arena *a, struct buf *difference) {
    struct hpa_replay r = {.c = c, .a = a, .difference = difference};
    yyjson_val *flags = json_get(c, STR("controller"));
    if (time_parse(json_str_at(c, "start"), &r.start_ns, NULL) != 0 ||
        read_spec(&r, json_get(c, STR("spec"))) != 0) {
        return false;
    }
    r.config = (struct hpa_config){
        .tolerance = yyjson_get_num(json_get(flags, STR("tolerance"))),
        .downscale_window_ns = json_i64_at(flags, "downscaleStabilizationSeconds", 0) * SECOND,
        .cpu_initialization_ns = json_i64_at(flags, "cpuInitializationPeriodSeconds", 0) * SECOND,
        .initial_readiness_ns = json_i64_at(flags, "initialReadinessDelaySeconds", 0) * SECOND,
        .scale_to_zero = json_bool_at(c, "featureGates.HPAScaleToZero", false),
        .configurable_tolerance = json_bool_at(c, "featureGates.HPAConfigurableTolerance", false),
    };
    read_status(&r);
    bool ok = ticks(&r);
    hpa_memory_release(&r.memory);
    return ok;
}

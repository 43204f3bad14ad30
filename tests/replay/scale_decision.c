/*
 * scale_decision: single decisions of a ScaledObject between zero and one. Now is an hour that the cases do not name.
 */
#include "api/schema/codec.h"
#include "core/scale/keda.h"
#include "scale_case.h"

#define SECOND INT64_C(1000000000)
#define NOW (INT64_C(1767607200) * SECOND)

static struct str_list texts(struct arena *a, yyjson_val *v) {
    struct str_list l = {ARENA_ARRAY(a, struct str, yyjson_arr_size(v) + 1), 0};
    for (size_t i = 0; i < yyjson_arr_size(v); i++) {
        l.v[l.n++] = json_str(yyjson_arr_get(v, i));
    }
    return l;
}

static struct keda_activity_map activity(struct arena *a, yyjson_val *v) {
    struct keda_activity_map m = {ARENA_ARRAY(a, struct keda_activity_pair, yyjson_obj_size(v) + 1),
                                  0};
    size_t i, max;
    yyjson_val *key, *value;
    yyjson_obj_foreach(v, i, max, key, value) {
        struct keda_activity *x = ARENA_NEW(a, struct keda_activity);
        x->is_active = yyjson_get_bool(value);
        m.v[m.n++] = (struct keda_activity_pair){json_str(key), x};
    }
    return m;
}

bool scale_activity_agrees(const struct keda_activity_map *got, yyjson_val *want,
                           struct buf *difference) {
    bool ok = got->n == yyjson_obj_size(want);
    for (size_t i = 0; ok && i < got->n; i++) {
        yyjson_val *v = json_get(want, got->v[i].key);
        ok = v != NULL && yyjson_get_bool(v) == got->v[i].value->is_active;
    }
    return ok || scale_differs(difference, "activity: %zu metrics", got->n);
}

bool scale_conditions_agree(const struct condition_list *got, yyjson_val *want,
                            struct buf *difference) {
    bool ok = got->n == yyjson_arr_size(want);
    for (size_t i = 0; i < got->n; i++) {
        const struct condition *c = &got->v[i];
        yyjson_val *v = yyjson_arr_get(want, i);
        yyjson_val *message = json_get(v, STR("message"));
        bool blank = str_is(c->reason, "ErrorGettingCurrentReplicas");
        bool same = v != NULL && str_eq(c->type, json_str_at(v, "type")) &&
                    str_eq(c->status, json_str_at(v, "status")) &&
                    str_eq(c->reason, json_str_at(v, "reason")) &&
                    (blank || str_eq(c->message, json_str(message)));
        if (!same) {
            scale_differs(difference, "condition %.*s %.*s %.*s: %.*s", STR_ARG(c->type),
                          STR_ARG(c->status), STR_ARG(c->reason), STR_ARG(c->message));
        }
        ok = ok && same;
    }
    return ok || scale_differs(difference, "%zu conditions", got->n);
}

static bool events_agree(const struct keda_answer *got, yyjson_val *want, struct buf *difference) {
    bool ok = got->n_events == yyjson_arr_size(want);
    for (size_t i = 0; i < got->n_events; i++) {
        yyjson_val *v = yyjson_arr_get(want, i);
        const struct keda_event *e = &got->events[i];
        bool same = v != NULL && str_is(json_str_at(v, "reason"), e->reason) &&
                    str_is(json_str_at(v, "type"), e->warning ? "Warning" : "Normal") &&
                    str_eq(json_str_at(v, "message"), e->message);
        if (!same) {
            scale_differs(difference, "event %s: %.*s", e->reason, STR_ARG(e->message));
        }
        ok = ok && same;
    }
    return ok || scale_differs(difference, "%zu events", got->n_events);
}

static bool writes_agree(const struct keda_answer *got, bool tried, yyjson_val *want,
                         struct buf *difference) {
    bool wanted = yyjson_arr_size(want) == 1;
    bool ok = yyjson_arr_size(want) <= 1 && wanted == tried &&
              (!tried || yyjson_get_sint(yyjson_arr_get_first(want)) == got->replicas);
    return ok ||
           scale_differs(difference, "write: %s %d", tried ? "of" : "none, not", got->replicas);
}

static void read_meta(struct arena *a, yyjson_val *in, struct meta *m) {
    yyjson_val *annotations = json_get(in, STR("annotations")), *key, *value;
    size_t i, max;
    m->namespace = STR("default");
    m->name = STR("so");
    m->creation_ns = NOW + json_i64_at(in, "created", 0) * SECOND;
    m->annotations.v = ARENA_ARRAY(a, struct str_pair, yyjson_obj_size(annotations) + 1);
    yyjson_obj_foreach(annotations, i, max, key, value) {
        m->annotations.v[m->annotations.n++] = (struct str_pair){json_str(key), json_str(value)};
    }
}

bool scale_decision(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *in = json_get(c, STR("input")), *want = json_get(c, STR("expect"));
    yyjson_val *hpa = json_get(in, STR("hpaScalingActive")),
               *last = json_get(in, STR("lastActiveTime"));
    yyjson_val *replicas = json_get(in, STR("currentReplicas"));
    struct scaled_object_spec spec;
    struct meta meta = {0};
    struct err err = {0};
    struct str kind = json_str_at(in, "targetKind");
    bool own = str_is(kind, "Gadget"), broken = json_bool_at(in, "scaleGetError", false);
    struct keda_target target = {.name = STR("web")};
    if (codec_decode(&schema_scaled_object_spec, json_get(in, STR("spec")), a, &spec, &err) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    spec.target = &target;
    read_meta(a, in, &meta);
    struct scaled_object_status status = {
        .last_active_ns = last != NULL ? NOW + yyjson_get_sint(last) * SECOND : 0,
        .external_metric_names = texts(a, json_get(in, STR("externalMetricNames"))),
        .triggers_activity = activity(a, json_get(in, STR("previousTriggersActivity"))),
    };
    struct condition scaling = {.status = json_str_at(hpa, "status"),
                                .reason = json_str_at(hpa, "reason"),
                                .message = json_str_at(hpa, "message")};
    struct str_list active = texts(a, json_get(in, STR("activeTriggers")));
    bool unread = own ? broken : json_bool_at(in, "targetMissing", false);
    struct keda_request r = {
        .metadata = &meta,
        .spec = &spec,
        .status = &status,
        .now_ns = NOW,
        .replicas_error = unread ? STR("not found") : STR(""),
        .replicas = yyjson_is_null(replicas) ? 1 : (int32_t)yyjson_get_sint(replicas),
        .kind_text = arena_f(a, "%s.%.*s", own ? "example.com/v1" : "apps/v1", STR_ARG(kind)),
        .hpa = hpa != NULL && str_empty(json_str_at(in, "hpaName")) == false && scaling.status.n > 0
                   ? &scaling
                   : NULL,
        .active = json_bool_at(in, "isActive", false),
        .error = json_bool_at(in, "isError", false),
        .active_triggers = active.v,
        .n_active = active.n,
        .push_metric = json_str_at(in, "pushMetric"),
    };
    struct keda_answer got;
    int rc = keda_decide(&r, a, &got);
    bool tried = rc == 0 && got.write != KEDA_KEEP && !broken;
    if (rc == 0 && got.write != KEDA_KEEP) {
        rc = keda_written(&r, a, !broken && !json_bool_at(in, "scaleUpdateError", false),
                          broken ? -1 : r.replicas, &got);
    }
    bool ok = rc == 0 && writes_agree(&got, tried, json_get(want, STR("scaleWrites")), difference);
    ok = scale_conditions_agree(&got.conditions, json_get(want, STR("conditions")), difference) &&
         ok;
    ok = events_agree(&got, json_get(want, STR("events")), difference) && ok;
    ok =
        scale_activity_agrees(&got.activity, json_get(want, STR("triggersActivity")), difference) &&
        ok;
    if (got.active_now != json_bool_at(want, "lastActiveTimeSetToNow", false) ||
        (got.error.n > 0) != json_bool_at(want, "error", false)) {
        ok = scale_differs(difference, "active now: %d, error: %.*s", got.active_now,
                           STR_ARG(got.error));
    }
    return ok;
}

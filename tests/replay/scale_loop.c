/*
 * scale_loop: polls of a ScaledObject and reads of its metrics, one after another, on one state. Where the recorded
 * counts drifted apart (counterDrift), health and the condition Fallback are not compared.
 */
#include "api/schema/codec.h"
#include "core/scale/go_float.h"
#include "core/scale/keda_poll.h"
#include "core/scale/metric_name.h"
#include "scale_case.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

#define SECOND INT64_C(1000000000)

struct loop_replay {
    yyjson_val *c;
    struct arena *a;
    struct buf *difference;
    int64_t start_ns;
    struct scaled_object_spec spec;
    struct keda_target target;
    struct meta meta;
    struct formula *formula;
    struct scaled_object_status status;
    struct keda_record *records;
    bool drift;
    /* The copy that upstream keeps for reads: it is the one of the polls when a poll made it, and then is as it was
     * read at the last poll; a failed read throws it away. */
    struct keda_state copy, before;
    bool has_copy, copy_of_polls;
};

static bool conditions_same(const struct condition_list *a, const struct condition_list *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++) {
        same = str_eq(a->v[i].type, b->v[i].type) && str_eq(a->v[i].status, b->v[i].status) &&
               str_eq(a->v[i].reason, b->v[i].reason);
    }
    return same;
}

static const struct keda_health *health_in(const struct keda_health_map *m, struct str key) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return m->v[i].value;
        }
    }
    return NULL;
}

static void put_health(struct loop_replay *r, struct keda_health_pair pair) {
    struct keda_health_map *m = &r->status.health;
    struct keda_health_pair *v = ARENA_ARRAY(r->a, struct keda_health_pair, m->n + 1);
    size_t at = 0;
    if (m->n > 0) {
        memcpy(v, m->v, m->n * sizeof(*v));
    }
    while (at < m->n && !str_eq(v[at].key, pair.key)) {
        at++;
    }
    v[at] = pair;
    *m = (struct keda_health_map){v, m->n + (at == m->n)};
}

/* A merge patch: what differs from before is written, of conditions the whole list; the copy gets what is stored
 * then. */
static void patch(void *ctx, struct keda_state *s) {
    struct loop_replay *r = ctx;
    bool conditions = !conditions_same(&s->conditions, &r->before.conditions), any = conditions;
    if (conditions) {
        r->status.conditions = s->conditions;
    }
    for (size_t i = 0; i < s->health.n; i++) {
        const struct keda_health *was = health_in(&r->before.health, s->health.v[i].key);
        const struct keda_health *is = s->health.v[i].value;
        if (was == NULL || was->number_of_failures.v != is->number_of_failures.v ||
            !str_eq(was->status, is->status)) {
            put_health(r, s->health.v[i]);
            any = true;
        }
    }
    if (any) {
        s->conditions = r->status.conditions;
        s->health = r->status.health;
        r->before = *s;
    }
}

static bool differs(struct loop_replay *r, yyjson_val *step, const char *what) {
    return scale_differs(r->difference, "%lld %.*s: %s", (long long)json_i64_at(step, "at", 0),
                         STR_ARG(json_str_at(step, "op")), what);
}

static double number_in(const struct str_map *m, const char *key) {
    double v = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (str_is(m->v[i].key, key)) {
            go_float(m->v[i].value, &v);
        }
    }
    return v;
}

static struct keda_reading *read_triggers(struct loop_replay *r, yyjson_val *step) {
    yyjson_val *list = json_get(step, STR("triggers"));
    size_t n = r->spec.triggers.n, source = 0;
    struct keda_reading *out = ARENA_ARRAY(r->a, struct keda_reading, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct keda_trigger *t = &r->spec.triggers.v[i];
        if (keda_is_resource(t->type)) {
            continue;
        }
        yyjson_val *v = yyjson_arr_get(list, source++);
        struct keda_reading *x = &out[i];
        x->metric = metric_name(r->a, (int64_t)i, STR("src"));
        x->trigger_name = t->name;
        x->metric_type = t->metric_type.n > 0 ? t->metric_type : STR("AverageValue");
        x->target = keda_milli(number_in(&t->metadata, "target"));
        x->cached = t->use_cached_metrics;
        x->error = json_bool_at(v, "error", false) ? STR("source failed") : STR("");
        x->value = yyjson_get_num(json_get(v, STR("value")));
        x->active = x->error.n == 0 && x->value > number_in(&t->metadata, "activationTarget");
    }
    return out;
}

static bool read_agrees(struct loop_replay *r, yyjson_val *step, int rc,
                        const struct keda_metrics *got) {
    yyjson_val *items = json_get(step, STR("items"));
    bool ok = (rc != 0) == json_bool_at(step, "readError", false) &&
              (rc != 0 || got->n == yyjson_obj_size(items));
    for (size_t i = 0; rc == 0 && ok && i < got->n; i++) {
        struct quantity want;
        ok = quantity_parse(json_str(json_get(items, got->v[i].name)), &want, NULL) == 0 &&
             quantity_milli(want) == got->v[i].milli;
    }
    return ok || differs(r, step, rc ? "a failed read" : "metrics");
}

static bool event_agrees(yyjson_val *want, const struct keda_event *e) {
    yyjson_val *message = json_get(want, STR("message"));
    return str_is(json_str_at(want, "reason"), e->reason) &&
           str_is(json_str_at(want, "type"), e->warning ? "Warning" : "Normal") &&
           (message == NULL || str_eq(json_str(message), e->message));
}

/* In any order. */
static bool events_agree(struct loop_replay *r, yyjson_val *step, const struct keda_event *got,
                         size_t n) {
    yyjson_val *want = json_get(step, STR("events"));
    bool used[KEDA_EVENTS_MAX + 2] = {false};
    bool ok = n == yyjson_arr_size(want);
    for (size_t i = 0; ok && i < n; i++) {
        size_t j = 0;
        while (j < n && (used[j] || !event_agrees(yyjson_arr_get(want, j), &got[i]))) {
            j++;
        }
        ok = j < n;
        used[j] = true;
    }
    return ok || differs(r, step, "events");
}

static bool health_agrees(struct loop_replay *r, yyjson_val *step, yyjson_val *want) {
    const struct keda_health_map *m = &r->status.health;
    bool ok = m->n == yyjson_obj_size(want);
    for (size_t i = 0; ok && i < m->n; i++) {
        yyjson_val *v = json_get(want, m->v[i].key);
        ok = v != NULL &&
             json_i64_at(v, "numberOfFailures", -1) == m->v[i].value->number_of_failures.v &&
             str_eq(json_str_at(v, "status"), m->v[i].value->status);
    }
    return ok || r->drift || differs(r, step, "health");
}

/* Without the condition that a drift may change. */
static bool drifted_agree(struct loop_replay *r, yyjson_val *step, yyjson_val *want) {
    const struct condition_list *got = &r->status.conditions;
    bool ok = got->n == yyjson_arr_size(want);
    for (size_t i = 0; ok && i < got->n; i++) {
        yyjson_val *v = yyjson_arr_get(want, i);
        ok = str_eq(got->v[i].type, json_str_at(v, "type"));
    }
    return ok || differs(r, step, "conditions");
}

static bool status_agrees(struct loop_replay *r, yyjson_val *step) {
    yyjson_val *want = json_get(step, STR("statusAfter"));
    yyjson_val *last = json_get(want, STR("lastActiveTime"));
    yyjson_val *conditions = json_get(want, STR("conditions"));
    int64_t at = last != NULL ? r->start_ns + yyjson_get_sint(last) * SECOND : 0;
    bool ok = r->drift ? drifted_agree(r, step, conditions)
                       : scale_conditions_agree(&r->status.conditions, conditions, r->difference);
    ok = (r->drift || at == r->status.last_active_ns || differs(r, step, "lastActiveTime")) && ok;
    ok = health_agrees(r, step, json_get(want, STR("health"))) && ok;
    ok = (r->drift ||
          scale_activity_agrees(&r->status.triggers_activity,
                                json_get(want, STR("triggersActivity")), r->difference)) &&
         ok;
    return ok || differs(r, step, "status");
}

static bool poll(struct loop_replay *r, yyjson_val *step, const struct keda_look *look,
                 struct keda_state *state) {
    yyjson_val *writes = json_get(step, STR("scaleWrites"));
    struct keda_found found;
    struct keda_answer answer;
    struct keda_event all[KEDA_EVENTS_MAX + 2];
    if (keda_poll(look, state, r->a, &found) != 0) {
        return false;
    }
    struct keda_request q = {.metadata = &r->meta,
                             .spec = &r->spec,
                             .status = &r->status,
                             .now_ns = r->start_ns + json_i64_at(step, "at", 0) * SECOND,
                             .replicas = look->replicas,
                             .kind_text = STR("apps/v1.Deployment"),
                             .active = found.active,
                             .error = found.error,
                             .active_triggers = found.active_triggers,
                             .n_active = found.n_active};
    int rc = keda_decide(&q, r->a, &answer);
    if (rc == 0 && answer.write != KEDA_KEEP) {
        rc = keda_written(&q, r->a, true, look->replicas, &answer);
    }
    r->copy = r->copy_of_polls ? *state : r->copy;
    r->has_copy = !found.error;
    rc = rc ? rc : keda_put_conditions(&r->status.conditions, &answer.conditions, r->a);
    r->status.triggers_activity = answer.activity;
    r->status.last_active_ns = answer.active_now ? q.now_ns : r->status.last_active_ns;
    memcpy(all, found.events, found.n_events * sizeof(*all));
    memcpy(all + found.n_events, answer.events, answer.n_events * sizeof(*all));
    bool wrote = answer.write != KEDA_KEEP;
    bool ok = rc == 0 && wrote == (yyjson_arr_size(writes) == 1) &&
              (!wrote || yyjson_get_sint(yyjson_arr_get_first(writes)) == answer.replicas);
    return ((ok || r->drift || differs(r, step, "write")) &&
            (r->drift || events_agree(r, step, all, found.n_events + answer.n_events)));
}

static bool run_step(struct loop_replay *r, yyjson_val *step) {
    yyjson_val *annotations = json_get(step, STR("annotations")), *key, *value;
    size_t i, max;
    if (annotations != NULL) {
        r->meta.annotations.v =
            ARENA_ARRAY(r->a, struct str_pair, yyjson_obj_size(annotations) + 1);
        r->meta.annotations.n = 0;
        yyjson_obj_foreach(annotations, i, max, key, value) {
            r->meta.annotations.v[r->meta.annotations.n++] =
                (struct str_pair){json_str(key), json_str(value)};
        }
    }
    struct keda_look look = {.metadata = &r->meta,
                             .spec = &r->spec,
                             .formula = r->formula,
                             .readings = read_triggers(r, step),
                             .n = r->spec.triggers.n,
                             .replicas = (int32_t)json_i64_at(step, "currentReplicas", 0),
                             .replicas_known = true,
                             .ready_pods = (int32_t)json_i64_at(step, "readyPods", 0),
                             .records = r->records};
    bool polls = str_is(json_str_at(step, "op"), "poll"), ok;
    struct keda_state state = {r->status.conditions, r->status.health, patch, r};
    if (!r->has_copy || (polls && r->copy_of_polls)) {
        r->copy = state;
        r->copy_of_polls = r->has_copy ? r->copy_of_polls : polls;
        r->has_copy = true;
    }
    if (polls) {
        r->before = state;
        ok = poll(r, step, &look, &state);
    } else {
        struct keda_metrics got;
        r->before = r->copy;
        int rc = keda_read(&look, &r->copy, json_str_at(step, "metric"),
                           &r->status.external_metric_names, r->a, &got, NULL);
        r->has_copy = rc == 0;
        ok = r->drift || read_agrees(r, step, rc, &got);
    }
    return status_agrees(r, step) && ok;
}

static void begin(struct loop_replay *r) {
    static const char *const types[] = {"Ready", "Active", "Fallback"};
    yyjson_val *names = json_get(r->c, STR("externalMetricNames"));
    struct str *triggers = ARENA_ARRAY(r->a, struct str, r->spec.triggers.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < 3; i++) {
        keda_put_condition(&r->status.conditions, r->a, types[i], "Unknown", "", STR(""));
    }
    keda_put_condition(&r->status.conditions, r->a, "Paused", "False", "", STR(""));
    r->status.external_metric_names.v = ARENA_ARRAY(r->a, struct str, yyjson_arr_size(names) + 1);
    for (size_t i = 0; i < yyjson_arr_size(names); i++) {
        r->status.external_metric_names.v[r->status.external_metric_names.n++] =
            json_str(yyjson_arr_get(names, i));
    }
    for (size_t i = 0; i < r->spec.triggers.n; i++) {
        const struct keda_trigger *t = &r->spec.triggers.v[i];
        if (!keda_is_resource(t->type) && t->name.n > 0) {
            triggers[n++] = t->name;
        }
    }
    if (keda_modified(&r->spec)) {
        keda_modify_parse(r->spec.advanced->modifiers, triggers, n, r->a, &r->formula, NULL);
    }
    r->records = ARENA_ARRAY(r->a, struct keda_record, r->spec.triggers.n + 1);
}

bool scale_loop(yyjson_val *c, struct arena *a, struct buf *difference) {
    struct loop_replay r = {
        .c = c, .a = a, .difference = difference, .target = {.name = STR("web")}};
    yyjson_val *steps = json_get(c, STR("steps"));
    struct err err = {0};
    bool ok = yyjson_arr_size(steps) > 0;
    if (time_parse(json_str_at(c, "start"), &r.start_ns, NULL) != 0 ||
        codec_decode(&schema_scaled_object_spec, json_get(c, STR("spec")), a, &r.spec, &err) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    r.spec.target = &r.target;
    r.drift = json_bool_at(c, "counterDrift", false);
    r.meta = (struct meta){.name = STR("so"),
                           .namespace = STR("default"),
                           .creation_ns = r.start_ns + json_i64_at(c, "created", 0) * SECOND};
    begin(&r);
    for (size_t i = 0; i < yyjson_arr_size(steps); i++) {
        ok = run_step(&r, yyjson_arr_get(steps, i)) && ok;
    }
    return ok;
}

/*
 * hpa: the course of one look: is there a scale, is it within the bounds, what do the metrics say, steady it, write it,
 * and what of it stands in the status.
 */
#include "core/scale/hpa.h"

#include "api/conditions.h"
#include "api/selector.h"
#include "base/buf.h"
#include "base/limits.h"
#include "core/scale/hpa_private.h"

#define SECOND INT64_C(1000000000)
const struct hpa_config hpa_config_default = {
    .tolerance = 0.1,
    .downscale_window_ns = 300 * SECOND,
    .cpu_initialization_ns = 300 * SECOND,
    .initial_readiness_ns = 30 * SECOND,
    .configurable_tolerance = true,
};

void hpa_memory_release(struct hpa_memory *m) {
    hpa_recommendations_release(&m->recommendations);
    hpa_changes_release(&m->ups);
    hpa_changes_release(&m->downs);
    m->known = false;
}

void hpa_event(struct hpa_look *k, bool warning, const char *reason, struct str message) {
    struct hpa_answer *r = k->answer;
    if (r->n_events == HPA_EVENTS_MAX) {
        return;
    }
    if (r->n_events == r->cap_events && ARENA_GROW(k->arena, r->events, r->cap_events) != 0) {
        k->failed = ERR_NOMEM;
        return;
    }
    r->events[r->n_events++] = (struct hpa_event){warning, reason, message};
}

void hpa_condition(struct hpa_look *k, const char *type, bool truth, const char *reason,
                   struct str message) {
    int rc = conditions_set(&k->answer->status.conditions, k->arena, type, truth, reason, message,
                            k->in->now_ns, 0, NULL);
    k->failed = rc != 0 ? rc : k->failed;
}

static void remove_condition(struct hpa_look *k, const char *type) {
    conditions_remove(&k->answer->status.conditions, type, NULL);
}

/* ---- the selector ---- */

enum { COMPARED_MAX = 100000 }; /* pods with selectors, a look */

static bool rival_selects(struct hpa_look *k, const struct hpa_rival *r, size_t *compared) {
    struct selector s;
    if (r->selector.n == 0 || selector_parse(k->arena, r->selector, &s, NULL) != 0) {
        return false;
    }
    for (size_t i = 0; i < k->n_pods && *compared < COMPARED_MAX; i++, ++*compared) {
        if (selector_matches(&s, k->pods[i]->labels)) {
            return true;
        }
    }
    return false;
}

static bool is_alone(struct hpa_look *k, struct str *failure) {
    const struct hpa_input *in = k->in;
    struct buf b;
    size_t n = 0, compared = 0;
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    buf_f(&b, "pods by selector %.*s are controlled by multiple HPAs: [{%.*s %.*s}",
          STR_ARG(in->selector), STR_ARG(in->name), STR_ARG(in->namespace));
    for (size_t i = 0; i < in->n_rivals; i++) {
        if (rival_selects(k, &in->rivals[i], &compared)) {
            buf_f(&b, " {%.*s %.*s}", STR_ARG(in->rivals[i].name), STR_ARG(in->namespace));
            n++;
        }
    }
    buf_c(&b, "]");
    if (n > 0) {
        *failure = arena_str(k->arena, buf_view(&b));
        hpa_event(k, true, "AmbiguousSelector", *failure);
        hpa_condition(k, "ScalingActive", false, "AmbiguousSelector", *failure);
    }
    buf_release(&b);
    return n == 0;
}

/* The pods that the scale's selector picks. False: it is none, or not of this object alone. */
static bool pick_pods(struct hpa_look *k, struct str *failure) {
    const struct hpa_input *in = k->in;
    struct selector s;
    struct err err = {0};
    if (in->selector.n == 0) {
        *failure = STR("selector is required");
        hpa_event(k, true, "SelectorRequired", *failure);
        hpa_condition(k, "ScalingActive", false, "InvalidSelector",
                      STR("the HPA target's scale is missing a selector"));
        return false;
    }
    if (selector_parse(k->arena, in->selector, &s, &err) != 0) {
        *failure = arena_f(k->arena,
                           "couldn't convert selector into a corresponding internal "
                           "selector object: %s",
                           err.text);
        hpa_event(k, true, "InvalidSelector", *failure);
        hpa_condition(k, "ScalingActive", false, "InvalidSelector", *failure);
        return false;
    }
    k->pods = ARENA_ARRAY(k->arena, const struct hpa_pod *, in->n_pods + 1);
    for (size_t i = 0; k->pods != NULL && i < in->n_pods; i++) {
        if (selector_matches(&s, in->pods[i].labels)) {
            k->pods[k->n_pods++] = &in->pods[i];
        }
    }
    k->failed = k->pods == NULL ? ERR_NOMEM : k->failed;
    return is_alone(k, failure);
}

/* ---- the status ---- */

static const struct hpa_status no_status;

static const struct hpa_status *status_before(const struct hpa_look *k) {
    return k->in->status != NULL ? k->in->status : &no_status;
}

static void put_status(struct hpa_look *k, int32_t current, int32_t desired,
                       struct hpa_metric_list metrics, bool rescaled) {
    struct hpa_status *s = &k->answer->status;
    *s = (struct hpa_status){
        .last_scale_ns = rescaled ? k->in->now_ns - k->in->now_ns % SECOND : s->last_scale_ns,
        .current_replicas = current,
        .desired_replicas = desired,
        .current_metrics = metrics,
        .conditions = s->conditions,
    };
}

static int finish(struct hpa_look *k) {
    k->answer->status_changed = !hpa_status_same(status_before(k), &k->answer->status);
    return k->failed != 0 ? k->failed : arena_ok(k->arena);
}

static void fail(struct hpa_look *k, struct str failure) {
    struct hpa_metric_list metrics = k->answer->status.current_metrics;
    put_status(k, k->in->spec_replicas, status_before(k)->desired_replicas, metrics, false);
    hpa_event(k, true, "FailedComputeMetricsReplicas", failure);
    k->answer->failure = failure;
}

/* ---- the course ---- */

static bool by_object_or_external(const struct hpa_spec *s) {
    bool found = false;
    for (size_t i = 0; i < s->metrics.n; i++) {
        struct str type = s->metrics.v[i].type;
        found = found || str_is(type, "Object") || str_is(type, "External");
    }
    return found;
}

/* By the metrics. False: nothing can be said, and the status tells why. */
static bool by_metrics(struct hpa_look *k, bool from_zero, int32_t *ret) {
    int32_t current = k->in->spec_replicas, wanted = 0;
    struct str metric = {NULL, 0}, failure = {NULL, 0};
    struct hpa_answer *r = k->answer;
    r->status.current_metrics = (struct hpa_metric_list){NULL, 0};
    if (!pick_pods(k, &failure) ||
        !hpa_metrics(k, &wanted, &metric, &r->status.current_metrics, &failure)) {
        fail(k, failure);
        return false;
    }
    r->failure = failure;
    wanted = wanted > 0 ? wanted : 0;
    metric = wanted > 0 ? metric : STR("");
    if (wanted > current) {
        r->reason = arena_f(k->arena, "%.*s above target", STR_ARG(metric));
    } else if (wanted < current) {
        r->reason = STR("All metrics below target");
    }
    wanted = hpa_normalize(k, current, wanted);
    if (current == 0 && k->min_replicas != 0 && from_zero && wanted < k->min_replicas) {
        wanted = k->min_replicas;
        r->reason =
            r->reason.n > 0 ? r->reason : STR("Current number of replicas below Spec.MinReplicas");
    }
    *ret = wanted;
    return true;
}

static void look_init(struct hpa_look *k) {
    struct opt_i32 min = k->in->spec->min_replicas;
    k->min_replicas = min.set ? min.v : 1;
}

static void begin(struct hpa_look *k) {
    const struct hpa_status *before = status_before(k);
    k->answer->status = *before;
    k->failed = conditions_copy(&before->conditions, k->arena, &k->answer->status.conditions);
    look_init(k);
}

static void scale_read(struct hpa_look *k) {
    struct hpa_recommendation first = {k->in->spec_replicas, k->in->now_ns};
    hpa_condition(k, "AbleToScale", true, "SucceededGetScale",
                  STR("the HPA controller was able to get the target's current scale"));
    if (!k->memory->known) {
        k->memory->known = true;
        k->failed = hpa_recommendations_push(&k->memory->recommendations, first) != 0 ? ERR_NOMEM
                                                                                      : k->failed;
    }
}

/* How many replicas there should be. False: that was not found out. */
static bool wanted(struct hpa_look *k, int32_t *ret) {
    int32_t current = k->in->spec_replicas, max = k->in->spec->max_replicas;
    bool asleep =
        k->config->scale_to_zero && conditions_true(&k->answer->status.conditions, "ScaledToZero");
    if (current == 0 && !(asleep && (k->min_replicas != 0 || by_object_or_external(k->in->spec)))) {
        hpa_condition(k, "ScalingActive", false, "ScalingDisabled",
                      STR("scaling is disabled since the replica count of the target is zero"));
        if (!k->config->scale_to_zero) {
            remove_condition(k, "ScaledToZero");
        }
        k->answer->status.current_metrics = (struct hpa_metric_list){NULL, 0};
        *ret = 0;
        return true;
    }
    if (current > 0 && (current > max || current < k->min_replicas)) {
        bool above = current > max;
        k->answer->reason = above ? STR("Current number of replicas above Spec.MaxReplicas")
                                  : STR("Current number of replicas below Spec.MinReplicas");
        k->answer->status.current_metrics = (struct hpa_metric_list){NULL, 0};
        *ret = above ? max : k->min_replicas;
        return true;
    }
    return by_metrics(k, asleep, ret);
}

int hpa_decide(const struct hpa_config *c, const struct hpa_input *in, struct hpa_memory *m,
               struct arena *a, struct hpa_answer *answer) {
    struct hpa_look k = {.config = c, .in = in, .memory = m, .arena = a, .answer = answer};
    int32_t replicas = 0;
    *answer = (struct hpa_answer){0};
    begin(&k);
    if (in->scale_error.n > 0) {
        hpa_event(&k, true, "FailedGetScale", in->scale_error);
        hpa_condition(&k, "AbleToScale", false, "FailedGetScale",
                      arena_f(a,
                              "the HPA controller was unable to get the target's current scale: "
                              "%.*s",
                              STR_ARG(in->scale_error)));
        answer->failure = in->scale_error;
        return finish(&k);
    }
    scale_read(&k);
    if (!wanted(&k, &replicas)) {
        return finish(&k);
    }
    answer->write = replicas != in->spec_replicas;
    answer->replicas = replicas;
    if (answer->write) {
        return k.failed != 0 ? k.failed : arena_ok(a);
    }
    put_status(&k, in->spec_replicas, in->spec_replicas, answer->status.current_metrics, false);
    return finish(&k);
}

int hpa_written(const struct hpa_config *c, const struct hpa_input *in, struct hpa_memory *m,
                struct arena *a, struct str error, struct hpa_answer *answer) {
    struct hpa_look k = {.config = c, .in = in, .memory = m, .arena = a, .answer = answer};
    int32_t current = in->spec_replicas, desired = answer->replicas;
    struct hpa_metric_list metrics = answer->status.current_metrics;
    look_init(&k);
    if (error.n > 0) {
        hpa_event(&k, true, "FailedRescale",
                  arena_f(a, "New size: %d; reason: %.*s; error: %.*s", desired,
                          STR_ARG(answer->reason), STR_ARG(error)));
        hpa_condition(&k, "AbleToScale", false, "FailedUpdateScale",
                      arena_f(a, "the HPA controller was unable to update the target scale: %.*s",
                              STR_ARG(error)));
        put_status(&k, current, status_before(&k)->desired_replicas, metrics, false);
        answer->failure = error;
        return finish(&k);
    }
    hpa_condition(
        &k, "AbleToScale", true, "SucceededRescale",
        arena_f(a, "the HPA controller was able to update the target scale to %d", desired));
    hpa_event(&k, false, "SuccessfulRescale",
              arena_f(a, "New size: %d; reason: %.*s", desired, STR_ARG(answer->reason)));
    hpa_remember(&k, current, desired);
    if (!c->scale_to_zero) {
        remove_condition(&k, "ScaledToZero");
    } else if (current > 0 && desired == 0 && k.min_replicas == 0 &&
               by_object_or_external(in->spec)) {
        hpa_condition(&k, "ScaledToZero", true, "ScaledToZero",
                      STR("the HPA controller scaled the workload to zero"));
    } else {
        hpa_condition(&k, "ScaledToZero", false, "NotScaledToZero",
                      STR("the HPA controller did not scale the workload to zero"));
    }
    put_status(&k, current, desired, metrics, true);
    return finish(&k);
}

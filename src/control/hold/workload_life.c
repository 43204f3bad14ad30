/* workload_life: keys are Workloads. See workload_life.h. */
#include "control/hold/workload_life.h"

#include "api/schema/codec.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "control/load/queue_settings.h"
#include "control/load/workload_status.h"

#define TOO_LONG "MaximumExecutionTimeExceeded"

enum { BODY_MAX = 2 << 20 };

struct workload_life_controller {
    struct controller base;
    const struct queue_settings *settings;
};
enum { WORKLOADS }; /* of the row's kinds */

static enum work send_change(struct workload_life_controller *c, struct workload_change *ch) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(ch, &b);
    return controller_patch(&c->base, ch->obj, "status", code, &b);
}

static enum work deactivate(struct workload_life_controller *c, struct workload_change *ch) {
    const struct condition *target = conditions_find(&ch->status.conditions, "DeactivationTarget");
    struct str message = STR("The workload is deactivated"), reason = STR("Deactivated");
    struct str cause = {0};
    if (conditions_true(&ch->status.conditions, "Evicted")) {
        ch->status.requeue_state = NULL;
        return send_change(c, ch);
    }
    if (target && str_is(target->status, "True")) {
        cause = arena_str(ch->arena, target->reason);
        reason = arena_f(ch->arena, "DeactivatedDueTo%.*s", STR_ARG(target->reason));
        message =
            arena_f(ch->arena, "The workload is deactivated due to %.*s", STR_ARG(target->message));
    }
    if (arena_ok(ch->arena) != 0) {
        return WORK_RETRY;
    }
    workload_change_evict(ch, reason.p, cause.p ? cause.p : "", message);
    conditions_remove(&ch->status.conditions, "DeactivationTarget", &ch->changed);
    ch->status.requeue_state = NULL;
    recorder_event(c->base.recorder, ch->obj, EVENT_NORMAL,
                   workload_evicted_event(STR("Deactivated"), cause), "%.*s", STR_ARG(message));
    return send_change(c, ch);
}

static enum work set_inactive(struct workload_life_controller *c, const struct object *o,
                              const struct workload *w) {
    struct workload want = *w;
    struct workload_spec spec = *w->spec;
    struct buf b;
    spec.active = (struct opt_bool){.set = true};
    want.spec = &spec;
    buf_init(&b, BODY_MAX);
    int code = edit_write(o, EDIT_VERSION, w, &want, &b);
    return controller_patch(&c->base, o, "", code, &b);
}

static enum work watch_time(struct workload_life_controller *c, struct workload_change *ch) {
    const struct workload *w = ch->wl;
    const struct condition *a = conditions_find(&ch->status.conditions, "Admitted");
    if (!w->spec->maximum_execution_time_seconds.set || a == NULL || !str_is(a->status, "True") ||
        conditions_true(&ch->status.conditions, "Evicted")) {
        return WORK_OK;
    }
    int64_t limit = w->spec->maximum_execution_time_seconds.v;
    const struct opt_i32 *past = &w->status->accumulated_past_execution_time_seconds;
    int64_t left =
        (limit - (past->set ? past->v : 0)) * NS_PER_SEC - (ch->now_ns - a->last_transition_ns);
    if (left > 0) {
        workqueue_look(c->base.queue, c->base.key, left);
        return WORK_OK;
    }
    workload_change_set(ch, "DeactivationTarget", true, TOO_LONG,
                        STR("exceeding the maximum execution time"));
    ch->status.accumulated_past_execution_time_seconds = (struct opt_i32){.set = true};
    recorder_event(c->base.recorder, ch->obj, EVENT_WARNING, TOO_LONG,
                   "The maximum execution time (%llds) exceeded", (long long)limit);
    return send_change(c, ch);
}

/* Finished ones are kept for as long as the Configuration says. */
static enum work retire(struct workload_life_controller *c, struct workload_change *ch) {
    int64_t keep = c->settings->keep_finished_ns;
    const struct object *o = ch->obj;
    const struct condition *f = conditions_find(&ch->status.conditions, "Finished");
    if (keep < 0) {
        return WORK_OK;
    }
    int64_t left = f->last_transition_ns + keep - ch->now_ns;
    if (left > 0) {
        workqueue_look(c->base.queue, c->base.key, left);
        return WORK_OK;
    }
    recorder_event(c->base.recorder, o, EVENT_NORMAL, "Deleted",
                   "Deleted finished workload due to elapsed retention");
    return controller_remove(&c->base, o);
}

static enum work decide(struct workload_life_controller *c, const struct object *o,
                        const struct workload *w) {
    struct workload_change ch;
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->base.env.clock));
    if (ch.code != 0) {
        return WORK_RETRY;
    }
    if (conditions_true(&ch.status.conditions, "Finished")) {
        return retire(c, &ch);
    }
    if (w->spec == NULL) {
        return WORK_OK;
    }
    if (w->spec->active.set && !w->spec->active.v) {
        return deactivate(c, &ch);
    }
    if (conditions_true(&ch.status.conditions, "DeactivationTarget")) {
        return set_inactive(c, o, w);
    }
    const struct condition *r = conditions_find(&ch.status.conditions, "Requeued");
    if (r && str_is(r->status, "False") && str_starts(r->reason, STR("Deactivated"))) {
        workload_change_set(&ch, "Requeued", true, "Reactivated",
                            STR("The workload was reactivated"));
        return send_change(c, &ch);
    }
    return w->status ? watch_time(c, &ch) : WORK_OK;
}

static enum work step(void *self, struct work_key key) {
    struct workload_life_controller *c = self;
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[WORKLOADS], key.ns, key.name);
    struct workload w;
    yyjson_doc *d;
    if (o == NULL || o->deleting_ns) {
        return WORK_OK;
    }
    if (object_tree(o, &c->base.arena, &d, NULL) != 0 ||
        codec_decode(&schema_workload, yyjson_doc_get_root(d), &c->base.arena, &w, NULL) != 0) {
        return WORK_RETRY;
    }
    return decide(c, o, &w);
}

/* Most Workloads have neither a time limit nor a switch that was used: one look at the bytes spares the decoding. */
static bool concerns(const struct workload_life_controller *c, const struct object *o) {
    return (c->settings->keep_finished_ns >= 0 && str_contains(o->json, STR("\"Finished\""))) ||
           str_contains(o->json, STR("\"active\":false")) ||
           str_contains(o->json, STR("\"DeactivationTarget\"")) ||
           str_contains(o->json, STR("\"maximumExecutionTimeSeconds\"")) ||
           str_contains(o->json, STR("\"Deactivated"));
}

static void changed(void *self, const struct change *ch) {
    if (concerns(self, ch->obj)) {
        controller_changed(self, ch);
    }
}

static int init(void *self, struct err *err) {
    struct workload_life_controller *c = self;
    const struct queue_settings *s = c->base.env.settings;
    c->settings = s ? s : queue_settings_defaults();
    return 0;
}

const struct controller_row workload_life_controller = {
    .name = "workloads",
    .set = CONTROL_WORKLOADS,
    .who = "kueue-workload-controller",
    CONTROLLER_KINDS([WORKLOADS] = {"kueue.x-k8s.io", "Workload", changed, .first = true,
                                    .may = MAY_PATCH | MAY_STATUS | MAY_DELETE}),
    .step = step,
    .size = sizeof(struct workload_life_controller),
    .init = init,
};

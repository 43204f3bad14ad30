/* workload_life: keys are Workloads. See workload_life.h. */
#include "control/hold/workload_life.h"

#include "api/schema/codec.h"
#include "base/mem.h"
#include "control/kit/controller.h"
#include "control/load/queue_settings.h"
#include "control/load/workload_status.h"

#define TOO_LONG "MaximumExecutionTimeExceeded"

enum { BODY_MAX = 2 << 20 };

struct workload_life_controller {
    struct controller base;
    const struct queue_settings *settings;
    const struct kind *workloads;
};

static enum work send(struct workload_life_controller *c, const struct object *o, const char *sub,
                      int code, struct buf *b) {
    struct round *r = code == 0 ? controller_round(&c->base, o->ns, o->name) : NULL;
    if (r) {
        round_patch(r, c->workloads, o->ns, o->name, sub, PATCH_MERGE, buf_view(b));
    }
    buf_release(b);
    return r ? round_end(r) : code == ERR_NOT_FOUND ? WORK_OK : WORK_RETRY;
}

static enum work send_change(struct workload_life_controller *c, struct workload_change *ch) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(ch, &b);
    return send(c, ch->obj, "status", code, &b);
}

static enum work deactivate(struct workload_life_controller *c, struct workload_change *ch) {
    const struct condition *target = conditions_find(&ch->conditions, "DeactivationTarget");
    struct str message = STR("The workload is deactivated"), reason = STR("Deactivated");
    struct str cause = {0};
    if (conditions_true(&ch->conditions, "Evicted")) {
        ch->clear_requeue_state = ch->wl->status->requeue_state != NULL;
        ch->changed |= ch->clear_requeue_state;
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
    conditions_remove(&ch->conditions, "DeactivationTarget", &ch->changed);
    ch->clear_requeue_state = true;
    recorder_event(c->base.recorder, ch->obj, EVENT_NORMAL,
                   workload_evicted_event(STR("Deactivated"), cause), "%.*s", STR_ARG(message));
    return send_change(c, ch);
}

static enum work set_inactive(struct workload_life_controller *c, const struct object *o) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"spec\":{\"active\":false}}",
          (unsigned long long)o->rv);
    return send(c, o, "", buf_ok(&b), &b);
}

static enum work watch_time(struct workload_life_controller *c, struct workload_change *ch) {
    const struct workload *w = ch->wl;
    const struct condition *a = conditions_find(&ch->conditions, "Admitted");
    if (!w->spec->maximum_execution_time_seconds.set || !a || !str_is(a->status, "True") ||
        conditions_true(&ch->conditions, "Evicted")) {
        return WORK_OK;
    }
    int64_t limit = w->spec->maximum_execution_time_seconds.v;
    const struct opt_i32 *past = &w->status->accumulated_past_execution_time_seconds;
    int64_t left =
        (limit - (past->set ? past->v : 0)) * NS_PER_SEC - (ch->now_ns - a->last_transition_ns);
    if (left > 0) {
        workqueue_add_after(c->base.queue, ch->obj->ns, ch->obj->name, left);
        return WORK_OK;
    }
    workload_change_set(ch, "DeactivationTarget", true, TOO_LONG,
                        STR("exceeding the maximum execution time"));
    ch->past_seconds = 0;
    recorder_event(c->base.recorder, ch->obj, EVENT_WARNING, TOO_LONG,
                   "The maximum execution time (%llds) exceeded", (long long)limit);
    return send_change(c, ch);
}

/* Finished ones are kept for as long as the Configuration says. */
static enum work retire(struct workload_life_controller *c, struct workload_change *ch) {
    int64_t keep = c->settings->keep_finished_ns;
    const struct object *o = ch->obj;
    const struct condition *f = conditions_find(&ch->conditions, "Finished");
    if (keep < 0) {
        return WORK_OK;
    }
    int64_t left = f->last_transition_ns + keep - ch->now_ns;
    if (left > 0) {
        workqueue_add_after(c->base.queue, o->ns, o->name, left);
        return WORK_OK;
    }
    struct round *r = controller_round(&c->base, o->ns, o->name);
    struct delete_options how = {
        .uid = o->uid, .grace_seconds = -1, .propagation = STR("Background")};
    if (!r) {
        return WORK_RETRY;
    }
    round_remove(r, c->workloads, o->ns, o->name, &how);
    recorder_event(c->base.recorder, o, EVENT_NORMAL, "Deleted",
                   "Deleted finished workload due to elapsed retention");
    return round_end(r);
}

static enum work decide(struct workload_life_controller *c, const struct object *o,
                        const struct workload *w) {
    struct workload_change ch;
    workload_change_init(&ch, o, w, &c->base.arena, clock_wall(c->base.env.clock));
    if (conditions_true(&ch.conditions, "Finished")) {
        return retire(c, &ch);
    }
    if (!w->spec) {
        return WORK_OK;
    }
    if (w->spec->active.set && !w->spec->active.v) {
        return deactivate(c, &ch);
    }
    if (conditions_true(&ch.conditions, "DeactivationTarget")) {
        return set_inactive(c, o);
    }
    const struct condition *r = conditions_find(&ch.conditions, "Requeued");
    if (r && str_is(r->status, "False") && str_starts(r->reason, STR("Deactivated"))) {
        workload_change_set(&ch, "Requeued", true, "Reactivated",
                            STR("The workload was reactivated"));
        return send_change(c, &ch);
    }
    return w->status ? watch_time(c, &ch) : WORK_OK;
}

static enum work work(void *ctx, struct str ns, struct str name) {
    struct workload_life_controller *c = ctx;
    const struct object *o = mirror_get(c->base.env.mirror, c->workloads, ns, name);
    struct workload w;
    yyjson_doc *d;
    enum work result = WORK_RETRY;
    if (!o || o->deleting_ns) {
        return WORK_OK;
    }
    if (object_tree(o, &c->base.arena, &d, NULL) == 0 &&
        codec_decode(&schema_workload, yyjson_doc_get_root(d), &c->base.arena, &w, NULL) == 0) {
        result = decide(c, o, &w);
    }
    return controller_done(&c->base, result);
}

/* Most Workloads have neither a time limit nor a switch that was used: one look at the bytes spares the decoding. */
static bool concerns(const struct workload_life_controller *c, const struct object *o) {
    return (c->settings->keep_finished_ns >= 0 && str_contains(o->json, STR("\"Finished\""))) ||
           str_contains(o->json, STR("\"active\":false")) ||
           str_contains(o->json, STR("\"DeactivationTarget\"")) ||
           str_contains(o->json, STR("\"maximumExecutionTimeSeconds\"")) ||
           str_contains(o->json, STR("\"Deactivated"));
}

static bool add(void *ctx, const struct object *o) {
    struct workload_life_controller *c = ctx;
    if (concerns(c, o)) {
        workqueue_add(c->base.queue, o->ns, o->name);
    }
    return true;
}

static void changed(void *ctx, const struct change *ch) {
    if (ch->type != CHANGE_DELETED) {
        add(ctx, ch->obj);
    }
}

static void add_all(void *ctx) {
    struct workload_life_controller *c = ctx;
    mirror_scan(c->base.env.mirror, c->workloads, STR(""), add, c);
}

struct workload_life_controller *workload_life_controller_new(const struct control_env *env,
                                                              struct err *err) {
    struct workload_life_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    c->settings = env->settings ? env->settings : queue_settings_defaults();
    c->workloads = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    if (controller_init(&c->base, env, "kueue-workload-controller", work, add_all, c, err) != 0 ||
        controller_feed(&c->base, c->workloads, changed, c, err) != 0) {
        workload_life_controller_free(c);
        return NULL;
    }
    add_all(c);
    return c;
}

void workload_life_controller_free(struct workload_life_controller *c) {
    if (c) {
        controller_release(&c->base);
        mem_free(c);
    }
}

/* hold: see hold.h. */
#include "control/hold/hold.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/kit/edit.h"

enum { BODY_MAX = 2 * LIMIT_OBJECT_BYTES };

/* ---- seeing ---- */

const struct condition *hold_condition(const struct hold_look *h, const char *type) {
    return h->wl.status != NULL ? conditions_find(&h->wl.status->conditions, type) : NULL;
}

static bool holds(const struct hold_look *h, const char *type) {
    return h->wl.status != NULL && conditions_true(&h->wl.status->conditions, type);
}

bool hold_is_on_hold(const struct hold_look *h) {
    const struct condition *q = hold_condition(h, "QuotaReserved");
    return q != NULL && str_is(q->status, "False") && str_is(q->reason, "OnHold");
}

void hold_sync(struct hold_look *h) {
    h->admitted = holds(h, "Admitted");
    h->evicted = holds(h, "Evicted");
    h->reserved = holds(h, "QuotaReserved");
    h->wl_finished = holds(h, "Finished");
}

int hold_see(struct hold_look *h, struct err *err) {
    yyjson_doc *d;
    int r = object_tree(h->wl_obj, &h->c->arena, &d, err);
    if (r != 0) {
        return r;
    }
    h->wl_tree = yyjson_doc_get_root(d);
    r = codec_decode(&schema_workload, h->wl_tree, &h->c->arena, &h->wl, err);
    if (r == 0) {
        hold_sync(h);
    }
    return r;
}

/* ---- the status ---- */

void hold_change_init(const struct hold_look *h, struct workload_change *ch) {
    workload_change_init(ch, h->wl_obj, &h->wl, &h->c->arena, clock_wall(h->c->env.clock));
    ch->settings = h->settings;
}

enum work hold_change(const struct hold_look *h, struct workload_change *ch) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = workload_change_write(ch, &b);
    return controller_patch(h->c, ch->obj, "status", code, &b);
}

enum work hold_end(const struct hold_look *h, const char *reason, struct str message) {
    struct workload_change ch;
    hold_change_init(h, &ch);
    workload_change_set(&ch, "Finished", true, reason, message);
    return hold_change(h, &ch);
}

enum work hold_finish(const struct hold_look *h, const char *reason, struct str message) {
    if (h->about != NULL) {
        recorder_event(h->c->recorder, h->about, EVENT_NORMAL, "FinishedWorkload",
                       "Workload '%.*s/%.*s' is declared finished", STR_ARG(h->wl_obj->ns),
                       STR_ARG(h->wl_obj->name));
    }
    return hold_end(h, reason, message);
}

enum work hold_unset(const struct hold_look *h, const char *reason, struct str message) {
    struct workload_change ch;
    hold_change_init(h, &ch);
    workload_change_unset(&ch, reason, message);
    return hold_change(h, &ch);
}

enum work hold_ready(const struct hold_look *h, bool admitted, bool ready) {
    struct workload_change ch;
    if (!h->settings->ready.on) {
        return WORK_OK;
    }
    hold_change_init(h, &ch);
    workload_change_ready(&ch, admitted, ready);
    return hold_change(h, &ch);
}

int32_t hold_reclaimed(const struct hold_look *h, struct str set) {
    const struct workload_status *s = h->wl.status;
    for (size_t i = 0; s != NULL && i < s->reclaimable_pods.n; i++) {
        if (str_eq(s->reclaimable_pods.v[i].name, set)) {
            return s->reclaimable_pods.v[i].count;
        }
    }
    return 0;
}

enum work hold_reclaim(const struct hold_look *h, struct reclaimable_pod *v, size_t n) {
    struct workload_change ch;
    hold_change_init(h, &ch);
    ch.status.reclaimable_pods.v = v;
    ch.status.reclaimable_pods.n = n;
    return hold_change(h, &ch);
}

/* ---- the Workload ---- */

enum work hold_make(const struct hold_look *h, const struct group_workload *w) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    if (h->wl_obj != NULL) {
        int code = group_workload_update(h->wl_obj, h->wl_tree, w, &h->c->arena, &b);
        return controller_patch(h->c, h->wl_obj, "", code, &b);
    }
    struct round *r =
        group_workload_write(w, &h->c->arena, &b) == 0 ? controller_begin(h->c) : NULL;
    if (r != NULL) {
        round_create(r, kind_by_name(STR("kueue.x-k8s.io"), STR("Workload")), w->ns, buf_view(&b));
        hold_tell_created(h, w->name);
    }
    buf_release(&b);
    return r != NULL ? round_end(r) : WORK_RETRY;
}

enum work hold_respec(const struct hold_look *h, struct workload_spec *spec) {
    struct workload want = h->wl;
    struct buf b;
    want.spec = spec;
    buf_init(&b, BODY_MAX);
    int code = edit_write(h->wl_obj, EDIT_VERSION, &h->wl, &want, &b);
    return controller_patch(h->c, h->wl_obj, "", code, &b);
}

enum work hold_remeta(const struct hold_look *h, int code, const struct meta *meta) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    code = code != 0 ? code : edit_write_meta(h->wl_obj, EDIT_VERSION, h->wl.metadata, meta, &b);
    return controller_patch(h->c, h->wl_obj, "", code, &b);
}

enum work hold_drop_finalizer(const struct hold_look *h, const struct object *wl) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = wl->n_finalizers > 0 ? edit_drop_finalizer(wl, KUEUE_FINALIZER, &h->c->arena, &b)
                                    : ERR_NOT_FOUND;
    return controller_patch(h->c, wl, "", code, &b);
}

int hold_priority(const struct hold_look *h, struct str pod_class, struct workload_priority *ret) {
    struct str missing, label = object_label(h->about, STR(KUEUE_PRIORITY_LABEL));
    int r = workload_priority_resolve(h->c->env.mirror, label, pod_class, ret, &missing);
    if (r == ERR_NOT_FOUND && !str_empty(label)) {
        recorder_event(h->c->recorder, h->about, EVENT_WARNING, "WorkloadPriorityClassNotFound",
                       "WorkloadPriorityClass \"%.*s\" not found", STR_ARG(missing));
    } else if (r == ERR_NOT_FOUND) {
        recorder_event(h->c->recorder, h->about, EVENT_WARNING, "ErrWorkloadCompose",
                       "PriorityClass \"%.*s\" not found", STR_ARG(missing));
    }
    return r;
}

/* While quota is held it stays a WorkloadPriorityClass. */
bool hold_wants_class(const struct hold_look *h) {
    struct str label = object_label(h->about, STR(KUEUE_PRIORITY_LABEL));
    const struct priority_class_ref *ref = h->wl.spec->priority_class_ref;
    bool of_kueue = ref != NULL && str_is(ref->group, "kueue.x-k8s.io");
    return !str_empty(label) && !(of_kueue && str_eq(ref->name, label)) &&
           (!h->reserved || of_kueue);
}

/* ---- events ---- */

void hold_tell_created(const struct hold_look *h, struct str name) {
    recorder_event(h->c->recorder, h->about, EVENT_NORMAL, "CreatedWorkload",
                   "Created Workload: %.*s/%.*s", STR_ARG(h->about->ns), STR_ARG(name));
}

void hold_tell_updated(const struct hold_look *h) {
    recorder_event(h->c->recorder, h->about, EVENT_NORMAL, "UpdatedWorkload",
                   "Updated not matching Workload for suspended job: %.*s/%.*s",
                   STR_ARG(h->wl_obj->ns), STR_ARG(h->wl_obj->name));
}

void hold_tell_removed(const struct hold_look *h, const struct object *wl) {
    recorder_event(h->c->recorder, h->about, EVENT_NORMAL, "DeletedWorkload",
                   "Deleted not matching Workload: %.*s/%.*s", STR_ARG(wl->ns), STR_ARG(wl->name));
}

bool hold_is_expired(const struct hold_look *h) {
    int64_t keep = h->settings->keep_deactivated_ns;
    const struct condition *e = hold_condition(h, "Evicted");
    if (keep < 0 || !h->evicted || !str_starts(e->reason, STR("DeactivatedDueTo")) ||
        !h->wl.spec->active.set || h->wl.spec->active.v) {
        return false;
    }
    int64_t left = e->last_transition_ns + keep - clock_wall(h->c->env.clock);
    if (left > 0) {
        workqueue_look(h->c->queue, h->c->key, left);
    }
    return left <= 0;
}

/*
 * queue_workload: one Workload, from what is written to what should be.
 *
 *     ended, deleting              the engine forgets it; an orphan's finalizer goes
 *     holds quota as written       the engine holds it, seats are restored; Admitted follows
 *     the engine admitted it       the placement is written, then the admission
 *     cannot be queued             the engine forgets it; the condition says why
 *     waits                        the engine has it; the condition says what for, once known
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/queue/queue_private.h"

#define CLAIMS_AGAIN_NS (5 * NS_PER_SEC) /* a template may come */
#define PENDING_TEXT "Workload is pending evaluation in the scheduling queue"

/* ---- records ---- */

struct local_state *queue_local(struct queue_controller *c, struct str ns, struct str name) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof(key)) {
        return NULL;
    }
    struct local_state *l = map_get(&c->locals, str_from(key, (size_t)n));
    if (l != NULL) {
        return l;
    }
    l = mem_zalloc(sizeof(*l) + (size_t)n);
    if (l == NULL) {
        return NULL;
    }
    char *copy = (char *)(l + 1);
    memcpy(copy, key, (size_t)n);
    l->key = str_from(copy, (size_t)n);
    l->ns = str_from(copy, ns.n);
    l->name = str_from(copy + ns.n + 1, name.n);
    if (map_put(&c->locals, l->key, l, NULL) != 0) {
        mem_free(l);
        return NULL;
    }
    return l;
}

/* Is a Workload, perhaps one that has moved on, counted in its metrics? */
static bool counts(const struct metric_owner *m) {
    int64_t n = m->finished;
    for (size_t i = 0; i < m->n_causes; i++) {
        n += m->causes[i].n;
    }
    return n != 0;
}

void queue_local_forget(struct queue_controller *c, struct local_state *l) {
    if (l->exists || l->works != NULL || counts(&l->metrics)) {
        return;
    }
    map_del(&c->locals, l->key);
    (void)queue_local_point(c, l, (struct str){0});
    metric_owner_release(&l->metrics);
    tally_release(&l->tally);
    mem_free(l);
}

static void local_leave(struct queue_controller *c, struct queue_work *q) {
    struct local_state *l = q->local;
    if (l != NULL) {
        (void)queue_count(c, q, QW_IDLE);
        *(q->prev != NULL ? &q->prev->next : &l->works) = q->next;
        if (q->next != NULL) {
            q->next->prev = q->prev;
        }
        q->prev = q->next = NULL;
        q->local = NULL;
        queue_local_forget(c, l);
    }
}

static void local_join(struct queue_work *q, struct local_state *l) {
    q->local = l;
    q->prev = NULL;
    q->next = l->works;
    if (q->next != NULL) {
        q->next->prev = q;
    }
    l->works = q;
}

uint64_t queue_class_bit(struct str runtime_class) {
    return UINT64_C(1) << (hash_str(0, runtime_class) & 63);
}

static void classes_leave(struct queue_controller *c, struct queue_work *q) {
    if (q->classes != 0) {
        *(q->class_prev != NULL ? &q->class_prev->class_next : &c->classed) = q->class_next;
        if (q->class_next != NULL) {
            q->class_next->class_prev = q->class_prev;
        }
        q->class_prev = q->class_next = NULL;
        q->classes = 0;
    }
}

/* Whose overhead its pods have: who hears of a change of that. */
static void classes_note(struct queue_controller *c, struct queue_work *q,
                         const struct workload *w) {
    uint64_t classes = 0;
    for (size_t i = 0; w->spec != NULL && i < w->spec->pod_sets.n; i++) {
        const struct pod_template *t = w->spec->pod_sets.v[i].template;
        if (t != NULL && t->spec != NULL && !str_empty(t->spec->runtime_class_name)) {
            classes |= queue_class_bit(t->spec->runtime_class_name);
        }
    }
    if (classes == q->classes) {
        return;
    }
    classes_leave(c, q);
    q->classes = classes;
    if (classes != 0) {
        q->class_next = c->classed;
        if (q->class_next != NULL) {
            q->class_next->class_prev = q;
        }
        c->classed = q;
    }
}

struct queue_work *queue_work_get(struct queue_controller *c, const struct workload *w) {
    const struct meta *m = w->metadata;
    struct queue_work *q = map_get(&c->by_uid, m->uid);
    if (q == NULL) {
        q = mem_zalloc(sizeof(*q) + m->uid.n + m->namespace.n + m->name.n);
        if (q == NULL) {
            return NULL;
        }
        char *p = (char *)(q + 1);
        memcpy(p, m->uid.p, m->uid.n);
        memcpy(p + m->uid.n, m->namespace.p, m->namespace.n);
        memcpy(p + m->uid.n + m->namespace.n, m->name.p, m->name.n);
        q->uid = str_from(p, m->uid.n);
        q->ns = str_from(p + m->uid.n, m->namespace.n);
        q->name = str_from(q->ns.p + q->ns.n, m->name.n);
        if (map_put(&c->by_uid, q->uid, q, NULL) != 0) {
            mem_free(q);
            return NULL;
        }
    }
    struct str queue = w->spec != NULL ? w->spec->queue_name : (struct str){0};
    if (q->local == NULL || !str_eq(q->local->name, queue)) {
        local_leave(c, q);
        struct local_state *l = str_empty(queue) ? NULL : queue_local(c, m->namespace, queue);
        if (l != NULL) {
            local_join(q, l);
        }
    }
    classes_note(c, q, w);
    return q;
}

void queue_work_clear(struct queue_work *q) {
    queue_tell_not(q);
    mem_free(q->message);
    mem_free(q->victim);
    mem_free(q->counts);
    mem_free(q->considered);
    q->message = q->considered = NULL;
    q->victim = NULL;
    q->counts = NULL;
    q->n_counts = 0;
}

void queue_work_free(struct queue_controller *c, struct queue_work *q) {
    queue_metrics_gone(c, q);
    queue_news_leave(c, q);
    (void)queue_count(c, q, QW_IDLE);
    local_leave(c, q);
    classes_leave(c, q);
    map_del(&c->by_uid, q->uid);
    queue_work_clear(q);
    mem_free(q->plan_was);
    mem_free(q);
}

static void forget(struct queue_controller *c, struct str uid) {
    bool held;
    if (engine_workload_known(c->engine, uid, &held)) {
        engine_workload_del(c->engine, uid);
        queue_kick(c);
    }
}

void queue_workload_gone(struct queue_controller *c, const struct object *o) {
    struct queue_work *q = map_get(&c->by_uid, o->uid);
    forget(c, o->uid);
    if (q != NULL) {
        queue_work_free(c, q);
    }
}

/* ---- holding ---- */

static bool ended(const struct workload *w) {
    return w->status != NULL && conditions_true(&w->status->conditions, "Finished");
}

static bool reserves(const struct workload *w) {
    return w->status != NULL && w->status->admission != NULL &&
           conditions_true(&w->status->conditions, "QuotaReserved");
}

/* A partial admission gave fewer pods than the Workload would have. */
static void admitted_counts(const struct workload *w, struct workload_input *in) {
    const struct workload_admission *ad = w->status->admission;
    for (size_t i = 0; i < in->n_sets && i < ad->pod_set_assignments.n; i++) {
        const struct opt_i32 *count = &ad->pod_set_assignments.v[i].count;
        struct set_input *set = (struct set_input *)&in->sets[i]; /* in our arena */
        if (count->set && count->v < set->count) {
            set->count = count->v;
        }
    }
}

/* Its seats, by what is written of them. */
static int restore(struct queue_controller *c, const struct workload *w,
                   const struct workload_input *in) {
    const struct long_note note = queue_plan(c);
    struct str text = meta_annotation(w->metadata, PLACEMENT_ANNOTATION);
    struct err err = {0};
    yyjson_val **lists;
    size_t n;
    if (str_empty(text)) {
        return 0;
    }
    int r = long_note_read(&note, w->metadata->namespace, in->uid, text, &c->base.arena, &lists, &n,
                           &err);
    if (r == 0) {
        r = translate_places_restore(lists, n, c->engine, in, &c->base.arena, &err);
    }
    if (r != 0 || err.code != 0) {
        log_warn(c->env->log, "workload %.*s/%.*s: %s: %s", STR_ARG(w->metadata->namespace),
                 STR_ARG(w->metadata->name), PLACEMENT_ANNOTATION, err.text);
    }
    return r;
}

static int hold(struct queue_controller *c, const struct workload *w, struct queue_work *q) {
    struct workload_input in;
    struct held_amount *held;
    size_t n;
    q->elastic = queue_slice_elastic(c, w);
    if (q->elastic && queue_slice_heir(c, w) != NULL) {
        return 0; /* it is counted there */
    }
    int r = queue_input(c, w, w->status->admission->cluster_queue, &in);
    if (r == 0) {
        r = translate_admission(w, c->engine, c->settings, &c->base.arena, &held, &n);
    }
    if (r == 0) {
        admitted_counts(w, &in);
        in.evicting = in.evicting || q->victim != NULL; /* it will be, in a moment */
        in.not_ready = in.not_ready && c->settings->ready.block_admission;
    }
    r = r != 0       ? r
        : q->elastic ? queue_slice_hold(c, &in, held, n)
                     : engine_workload_hold(c->engine, &in, held, n);
    if (r != 0) {
        return r;
    }
    if ((q->elastic && !q->written) ||
        pool_workload_first(engine_pool(c->engine), q->uid) == NULL) {
        r = restore(c, w, &in);
    }
    if (conditions_true(&w->status->conditions, "Admitted")) {
        engine_workload_admitted(c->engine, q->uid);
    }
    q->written = true;
    queue_kick(c); /* it may hold less than before */
    return queue_count(
        c, q, conditions_true(&w->status->conditions, "Admitted") ? QW_ADMITTED : QW_RESERVING);
}

void queue_workload_adopt(struct queue_controller *c, const struct object *o) {
    bool held;
    if (!str_contains(o->json, STR("\"admission\":{"))) {
        return; /* one look at the bytes spares the decoding of all that hold nothing */
    }
    if (engine_workload_known(c->engine, o->uid, &held) && held) {
        return; /* most often our own admission; whether it holds less now is for the work on it */
    }
    arena_reset(&c->base.arena);
    struct workload *w = queue_filled(c, queue_decode(c, o));
    struct queue_work *q = w != NULL ? queue_work_get(c, w) : NULL;
    if (q != NULL && reserves(w) && !ended(w)) {
        (void)hold(c, w, q); /* an unknown queue or no memory: the work on it comes again */
    }
}

/* ---- may it be queued? ---- */

static bool namespace_matches(struct queue_controller *c, const struct cluster_state *s,
                              struct str ns) {
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_NAMESPACE], (struct str){0}, ns);
    struct str_map none = {0};
    return selector_matches(&s->namespaces, o != NULL ? &o->labels : &none);
}

static bool gated(const struct queue_controller *c, const struct workload *w, struct str *ret) {
    *ret = meta_annotation(w->metadata, "kueue.x-k8s.io/admission-gated-by");
    return c->settings->gates.admission_gated_by && !str_empty(*ret);
}

/* By its LocalQueue and ClusterQueue. */
static const char *no_queue(struct queue_controller *c, const struct workload *w,
                            const struct queue_work *q, struct str *text) {
    struct arena *a = &c->base.arena;
    const struct local_state *l = q->local;
    struct str name = w->spec != NULL ? w->spec->queue_name : (struct str){0};
    if (l == NULL || !l->exists || l->cluster == NULL) {
        *text = arena_f(a, "LocalQueue %.*s doesn't exist", STR_ARG(name));
        return "Misconfigured";
    }
    if (l->stopped) {
        *text = arena_f(a, "LocalQueue %.*s is inactive", STR_ARG(name));
        return "Suspended";
    }
    struct str cq = str_of(l->cluster);
    const struct cluster_state *s = map_get(&c->clusters, cq);
    if (s == NULL || !s->exists) {
        *text = arena_f(a, "ClusterQueue %.*s doesn't exist", STR_ARG(cq));
        return "Misconfigured";
    }
    if (!queue_cluster_sound(c, s) && !queue_cluster_active(c, cq)) {
        *text = arena_f(a, "ClusterQueue %.*s is inactive", STR_ARG(cq));
        return "Suspended";
    }
    return NULL;
}

/* Its owner took it out of the queue, until it says otherwise. */
static const struct condition *on_hold(const struct workload *w) {
    const struct condition *x =
        w->status != NULL ? conditions_find(&w->status->conditions, "QuotaReserved") : NULL;
    return x != NULL && str_is(x->status, "False") && str_is(x->reason, "OnHold") ? x : NULL;
}

/* The reason why it may not be queued, with its message; NULL: it may. The first that holds. */
static const char *not_queueable(struct queue_controller *c, const struct workload *w,
                                 const struct queue_work *q, struct str *text) {
    struct str gates;
    if (w->spec != NULL && w->spec->active.set && !w->spec->active.v) {
        *text = STR("The workload is deactivated");
        return "Deactivated";
    }
    if (on_hold(w) != NULL) {
        *text = on_hold(w)->message;
        return "OnHold";
    }
    const char *why = no_queue(c, w, q, text);
    if (why != NULL) {
        return why;
    }
    if (!namespace_matches(c, map_get(&c->clusters, str_of(q->local->cluster)),
                           w->metadata->namespace)) {
        *text = STR("workload namespace doesn't match ClusterQueue selector");
        return "Misconfigured";
    }
    if (queue_resources_refused(c, w, text)) {
        return "Misconfigured";
    }
    if (queue_claims_refused(c, w, text)) {
        queue_look(c, QS_WORKLOAD, q->ns, q->name, CLAIMS_AGAIN_NS);
        return "Misconfigured";
    }
    if (gated(c, w, &gates)) {
        *text = arena_f(&c->base.arena, "Admission is gated by: %.*s", STR_ARG(gates));
        return "AdmissionGated";
    }
    if (queue_unwritable(c, w, q, text)) {
        return pend_reason_text(PEND_WAITING_FOR_PLACEMENT);
    }
    return NULL;
}

/* What was written last says why it was not queued, and that is no longer so. */
static bool outdated(const struct workload *w) {
    static const char *const reasons[] = {"Misconfigured", "Suspended", "AdmissionGated",
                                          "Deactivated", "Inadmissible"};
    const struct condition *x =
        w->status != NULL ? conditions_find(&w->status->conditions, "QuotaReserved") : NULL;
    for (size_t i = 0; x != NULL && i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (str_is(x->reason, reasons[i])) {
            return true;
        }
    }
    return false;
}

/* Until when a back-off keeps it out: 0 now, INT64_MAX until somebody says so. */
static int64_t kept_out(const struct workload *w, int64_t now) {
    const struct condition *r =
        w->status != NULL ? conditions_find(&w->status->conditions, "Requeued") : NULL;
    if (w->status != NULL && w->status->requeue_state != NULL &&
        w->status->requeue_state->requeue_at_ns > now) {
        return w->status->requeue_state->requeue_at_ns - now;
    }
    return r != NULL && str_is(r->status, "False") ? INT64_MAX : 0;
}

/* Into the engine's queues. */
static enum work enqueue(struct queue_controller *c, const struct object *o,
                         const struct workload *w, struct queue_work *q) {
    struct workload_input in;
    bool held, known = engine_workload_known(c->engine, q->uid, &held);
    int r = queue_input(c, w, str_of(q->local->cluster), &in);
    if (r == 0) {
        r = engine_workload_put(c->engine, &in);
    }
    if (r == ERR_TOO_MANY) {
        struct str many = STR("the queues are full, or the workload has too many pods");
        return queue_message_set(q, "Misconfigured", many) == 0 ? queue_say_waits(c, o, w, q)
                                                                : WORK_RETRY;
    }
    if (r != 0) {
        return WORK_RETRY;
    }
    q->asked = o->generation;
    (void)queue_count(c, q, QW_PENDING); /* now it is known what it asks for */
    queue_kick(c);
    if (!known) {
        q->reason = NULL; /* the engine has not looked at it yet */
    }
    if (q->reason == NULL && (outdated(w) || c->settings->gates.unadmitted_explicit_status)) {
        if (!known) { /* most likely it will say something at once */
            queue_look(c, QS_WORKLOAD, q->ns, q->name, NS_PER_SEC);
        } else if (queue_message_set(q, "PendingEvaluation", STR(PENDING_TEXT)) != 0) {
            return WORK_RETRY;
        }
    }
    return queue_say_waits(c, o, w, q);
}

static enum work pending(struct queue_controller *c, const struct object *o,
                         const struct workload *w, struct queue_work *q) {
    static const struct condition_list none;
    struct str text;
    const char *why = not_queueable(c, w, q, &text);
    bool out = why != NULL && (str_is(str_of(why), "Deactivated") || on_hold(w) != NULL);
    (void)queue_count(c, q, out ? QW_IDLE : QW_PENDING);
    enum work back;
    if (!out && queue_returns(c, o, w, q, &back)) {
        return back;
    }
    int64_t wait = out ? 0 : kept_out(w, clock_wall(c->env->clock));
    if (wait > 0 && wait < INT64_MAX) {
        queue_look(c, QS_WORKLOAD, q->ns, q->name, wait);
    }
    if (why != NULL) {
        forget(c, q->uid);
        return queue_message_set(q, why, text) == 0 ? queue_say_waits(c, o, w, q) : WORK_RETRY;
    }
    if (wait > 0 || conditions_true(w->status != NULL ? &w->status->conditions : &none,
                                    "WaitingForReplacementPods")) {
        forget(c, q->uid);
        q->reason = NULL;
        return queue_say_waits(c, o, w, q);
    }
    return enqueue(c, o, w, q);
}

enum work queue_workload_work(struct queue_controller *c, struct str ns, struct str name) {
    const struct object *o;
    struct workload *w = queue_filled(c, queue_view(c, QK_WORKLOAD, ns, name, &o));
    if (o == NULL) {
        return WORK_OK;
    }
    struct queue_work *q = w != NULL ? queue_work_get(c, w) : NULL;
    if (q == NULL) {
        return WORK_RETRY;
    }
    queue_tell_not(q); /* of a write that failed */
    queue_metrics_seen(c, o, w, q);
    bool orphan = o->n_owners == 0;
    if (ended(w) || (o->deleting_ns != 0 && (orphan || !reserves(w)))) {
        (void)queue_count(c, q, QW_IDLE);
        queue_work_clear(q); /* kept for as long as its Workload is, with nothing to say */
        q->reason = NULL;
        forget(c, q->uid);
        return o->deleting_ns != 0 && orphan ? queue_finalizer_drop(c, o) : WORK_OK;
    }
    enum work gates;
    if (queue_gates(c, o, w, &gates)) {
        return gates;
    }
    const struct object *heir =
        reserves(w) && queue_slice_elastic(c, w) ? queue_slice_heir(c, w) : NULL;
    if (heir != NULL) {
        return queue_slice_finish(c, o, w, q, heir);
    }
    if (reserves(w)) { /* also while it goes: until its owner has stopped */
        int r = hold(c, w, q);
        return r == ERR_NOMEM ? WORK_RETRY : queue_holding(c, o, w, q);
    }
    if (q->written) { /* its quota was taken away: it starts anew */
        q->written = false;
        queue_work_clear(q);
        q->reason = NULL;
        forget(c, q->uid);
    }
    size_t n;
    struct str cq, text;
    const struct held_amount *held = engine_workload_held(c->engine, q->uid, &n, &cq);
    if (held != NULL && (q->asked != o->generation || q->edits != c->edits)) {
        /* it was decided about another one, or by another quota, and is not written yet */
        forget(c, q->uid);
        held = NULL;
    }
    if (held != NULL && not_queueable(c, w, q, &text) == NULL) {
        (void)queue_count(c, q, QW_PENDING);
        return queue_write_admission(c, o, w, q, held, n, cq);
    }
    return pending(c, o, w, q);
}

/*
 * queue_workload: one Workload, from what is written to what should be.
 *
 *     ended, deleting              the engine forgets it; an orphan's finalizer goes
 *     holds quota as written       the engine holds it, seats are restored; Admitted follows
 *     the engine admitted it       the placement is written, then the admission
 *     cannot be queued             the engine forgets it; the condition says why
 *     waits                        the engine has it; the condition says what for, once known
 */
#include "base/limits.h"
#include "control/queue_private.h"
#include "wire/time.h"

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

static void local_leave(struct queue_controller *c, struct queue_work *q) {
    if (q->local != NULL) {
        (void)queue_count(c, q, QW_IDLE);
        *(q->prev != NULL ? &q->prev->next : &q->local->works) = q->next;
        if (q->next != NULL) {
            q->next->prev = q->prev;
        }
        q->prev = q->next = NULL;
        q->local = NULL;
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
    return q;
}

void queue_work_free(struct queue_controller *c, struct queue_work *q) {
    (void)queue_count(c, q, QW_IDLE);
    local_leave(c, q);
    map_del(&c->by_uid, q->uid);
    mem_free(q->message);
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

/* ---- what LimitRanges fill in ---- */

struct filling {
    struct queue_controller *c;
    struct workload *w;
    int code;
};

static bool fill_each(void *ctx, const struct object *o) {
    struct filling *f = ctx;
    const struct limit_range *l = queue_decode(f->c, o);
    f->code = l != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; f->code == 0 && f->w->spec != NULL && i < f->w->spec->pod_sets.n; i++) {
        struct pod_template *t = f->w->spec->pod_sets.v[i].template;
        if (t != NULL && t->spec != NULL) {
            f->code = translate_limits(l, t->spec, &f->c->arena);
        }
    }
    return f->code == 0;
}

/* The decoded Workload with its pods' requests as the API server will make them; NULL: out of memory. */
static struct workload *filled(struct queue_controller *c, struct workload *w) {
    struct filling f = {.c = c, .w = w};
    if (w != NULL) {
        mirror_scan(c->env->mirror, c->kinds[QK_LIMIT_RANGE], w->metadata->namespace, fill_each,
                    &f);
    }
    return f.code == 0 ? w : NULL;
}

/* ---- holding ---- */

static struct str annotation(const struct meta *m, const char *key) {
    for (size_t i = 0; i < m->annotations.n; i++) {
        if (str_is(m->annotations.v[i].key, key)) {
            return m->annotations.v[i].value;
        }
    }
    return (struct str){0};
}

static bool ended(const struct workload *w) {
    return w->status != NULL && condition_true(&w->status->conditions, "Finished");
}

static bool reserves(const struct workload *w) {
    return w->status != NULL && w->status->admission != NULL &&
           condition_true(&w->status->conditions, "QuotaReserved");
}

static int hold(struct queue_controller *c, const struct workload *w, struct queue_work *q) {
    struct workload_input in;
    struct held_amount *held;
    size_t n;
    int r = translate_workload(w, w->status->admission->cluster_queue, &c->arena, &in);
    r = r == 0 ? translate_admission(w, c->engine, &c->arena, &held, &n) : r;
    r = r == 0 ? engine_workload_hold(c->engine, &in, held, n) : r;
    if (r != 0) {
        return r;
    }
    struct str plan = annotation(w->metadata, PLACEMENT_ANNOTATION);
    if (!str_empty(plan) && pool_workload_first(engine_pool(c->engine), q->uid) == NULL) {
        struct err err = {0};
        r = translate_placement_restore(plan, c->engine, &in, &c->arena, &err);
        if (r != 0) {
            log_warn(c->env->log, "workload %.*s/%.*s: %s: %s", STR_ARG(q->ns), STR_ARG(q->name),
                     PLACEMENT_ANNOTATION, err.text);
        }
    }
    q->written = true;
    queue_kick(c); /* it may hold less than before */
    return queue_count(
        c, q, condition_true(&w->status->conditions, "Admitted") ? QW_ADMITTED : QW_RESERVING);
}

void queue_workload_adopt(struct queue_controller *c, const struct object *o) {
    arena_reset(&c->arena);
    struct workload *w = filled(c, queue_decode(c, o));
    struct queue_work *q = w != NULL ? queue_work_get(c, w) : NULL;
    if (q != NULL && reserves(w) && !ended(w)) {
        (void)hold(c, w, q); /* an unknown queue or no memory: the work on it comes again */
    }
}

/* ---- writing ---- */

struct patch {
    struct buf body;
    char rv[24];
};

static void patch_begin(struct patch *p, const struct object *o) {
    buf_init(&p->body, LIMIT_OBJECT_BYTES);
    buf_f(&p->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"}", (unsigned long long)o->rv);
}

static enum work patch_send(struct queue_controller *c, struct patch *p, const struct object *o,
                            const char *sub, round_hook *hook) {
    buf_ch(&p->body, '}');
    enum work w = WORK_RETRY;
    struct round *r = buf_ok(&p->body) == 0 ? round_new(c->works, c->env->writer, c->expect,
                                                        QUEUE_WHO, o->ns, o->name)
                                            : NULL;
    if (r != NULL) {
        if (hook != NULL) {
            round_on_done(r, hook, c);
        }
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(&p->body));
        w = round_end(r);
    }
    buf_release(&p->body);
    return w;
}

static int tell_waits(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    if (res->code == 0 && res->obj != NULL) {
        const struct queue_work *q = map_get(&c->by_uid, res->obj->uid);
        if (q != NULL && q->reason != NULL && q->message != NULL) {
            recorder_event(c->recorder, res->obj, EVENT_WARNING, q->reason, "%.*s",
                           (int)q->message_n, q->message);
        }
    }
    return res->code;
}

static void requests_json(const struct workload_input *in, struct buf *out) {
    buf_c(out, "\"resourceRequests\":[");
    for (size_t i = 0; i < in->n_sets; i++) {
        const struct set_input *s = &in->sets[i];
        buf_c(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        buf_json(out, s->name);
        buf_c(out, ",\"resources\":{");
        for (size_t k = 0; k < s->n_requests; k++) {
            buf_c(out, k > 0 ? "," : "");
            buf_json(out, s->requests[k].resource);
            buf_c(out, ":\"");
            amount_text(s->requests[k].resource, amount_mul(s->requests[k].v, s->count), out);
            buf_ch(out, '"');
        }
        buf_c(out, "}}");
    }
    buf_ch(out, ']');
}

/* QuotaReserved False with the reason, when that is news. */
static enum work say_waits(struct queue_controller *c, const struct object *o,
                           const struct workload *w, struct queue_work *q) {
    if (q->reason == NULL || q->message == NULL) {
        return WORK_OK;
    }
    struct condition_change ch[] = {
        {"QuotaReserved", "False", q->reason, str_from(q->message, q->message_n)},
        {"Admitted", "False", "NoReservation", STR("The workload has no reservation")},
    };
    bool was = w->status != NULL && condition_find(&w->status->conditions, "Admitted") != NULL;
    struct workload_input in;
    struct patch p;
    patch_begin(&p, o);
    if (!conditions_json(o, &c->arena, ch, was ? 2 : 1, clock_wall(c->env->clock),
                         ",\"status\":{", &p.body) ||
        translate_workload(w, (struct str){0}, &c->arena, &in) != 0) {
        buf_release(&p.body);
        return arena_ok(&c->arena) == 0 ? WORK_OK : WORK_RETRY;
    }
    buf_ch(&p.body, ',');
    requests_json(&in, &p.body);
    buf_ch(&p.body, '}');
    return patch_send(c, &p, o, "status", tell_waits);
}

static int message_set(struct queue_work *q, const char *reason, struct str text) {
    char *copy = mem_cstr(text);
    if (copy == NULL) {
        return ERR_NOMEM;
    }
    mem_free(q->message);
    q->message = copy;
    q->message_n = text.n;
    q->reason = reason;
    return 0;
}

static int tell_admitted(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    if (res->code != 0 || res->obj == NULL) {
        return res->code;
    }
    size_t n;
    struct str cq;
    if (engine_workload_held(c->engine, res->obj->uid, &n, &cq) != NULL) {
        int64_t waited = (clock_wall(c->env->clock) - res->obj->created_ns) / NS_PER_SEC;
        recorder_event(c->recorder, res->obj, EVENT_NORMAL, "QuotaReserved",
                       "Quota reserved in ClusterQueue %.*s, wait time since queued was %llds",
                       STR_ARG(cq), (long long)(waited > 0 ? waited : 0));
        recorder_event(c->recorder, res->obj, EVENT_NORMAL, "Admitted",
                       "Admitted by ClusterQueue %.*s, wait time since reservation was 0s",
                       STR_ARG(cq));
    }
    return 0;
}

/* What was once true of an eviction is history when quota is reserved again. */
static size_t past_conditions(const struct workload *w, struct arena *a,
                              struct condition_change *out) {
    static const char *const types[] = {"Evicted", "Preempted", "BlockedOnPreemptionGates"};
    size_t n = 0;
    for (size_t i = 0; i < 3 && w->status != NULL; i++) {
        const struct condition *x = condition_find(&w->status->conditions, types[i]);
        if (x != NULL && str_is(x->status, "True")) {
            out[n++] = (struct condition_change){
                types[i], "False", "QuotaReserved",
                arena_f(a, "Previously: %.*s", STR_ARG(x->message))};
        }
    }
    return n;
}

static enum work write_admission(struct queue_controller *c, const struct object *o,
                                 const struct workload *w, const struct held_amount *held,
                                 size_t n, struct str cq) {
    struct workload_input in;
    struct patch p;
    struct seat *first = pool_workload_first(engine_pool(c->engine), o->uid);
    struct buf plan;
    buf_init(&plan, LIMIT_ANNOTATION_BYTES);
    if (first != NULL) {
        translate_placement_json(first, &plan);
    }
    if (buf_ok(&plan) != 0) {
        buf_release(&plan);
        return WORK_RETRY;
    }
    patch_begin(&p, o);
    if (!str_eq(annotation(w->metadata, PLACEMENT_ANNOTATION), buf_view(&plan))) {
        p.body.n--; /* into metadata */
        buf_c(&p.body, ",\"annotations\":{\"" PLACEMENT_ANNOTATION "\":");
        if (first != NULL) {
            buf_json(&p.body, buf_view(&plan));
        } else {
            buf_c(&p.body, "null");
        }
        buf_c(&p.body, "}}");
        buf_release(&plan);
        return patch_send(c, &p, o, "", NULL); /* its change brings us back, for the admission */
    }
    buf_release(&plan);
    struct str text = arena_f(&c->arena, "Quota reserved in ClusterQueue %.*s", STR_ARG(cq));
    struct condition_change ch[8] = {
        {"QuotaReserved", "True", "QuotaReserved", text},
        {"Admitted", "True", "Admitted", STR("The workload is admitted")},
    };
    size_t changes = 2 + past_conditions(w, &c->arena, &ch[2]);
    if (translate_workload(w, cq, &c->arena, &in) != 0 ||
        !conditions_json(o, &c->arena, ch, changes, clock_wall(c->env->clock), ",\"status\":{",
                         &p.body)) {
        buf_release(&p.body);
        return WORK_RETRY;
    }
    buf_c(&p.body, ",\"resourceRequests\":null,\"admission\":");
    translate_admission_json(c->engine, cq, &in, held, n, &p.body);
    buf_ch(&p.body, '}');
    return patch_send(c, &p, o, "status", tell_admitted);
}

/* ---- may it be queued? ---- */

static bool namespace_matches(struct queue_controller *c, const struct cluster_state *s,
                              struct str ns) {
    const struct object *o =
        mirror_get(c->env->mirror, c->kinds[QK_NAMESPACE], (struct str){0}, ns);
    struct str_map none = {0};
    return selector_matches(&s->namespaces, o != NULL ? &o->labels : &none);
}

/* The reason why it may not be queued, with its message; NULL: it may. */
static const char *not_queueable(struct queue_controller *c, const struct workload *w,
                                 const struct queue_work *q, struct str *text) {
    struct arena *a = &c->arena;
    const struct local_state *l = q->local;
    struct str name = w->spec != NULL ? w->spec->queue_name : (struct str){0};
    if (w->spec != NULL && w->spec->active.set && !w->spec->active.v) {
        *text = STR("The workload is deactivated");
        return "Deactivated";
    }
    if (l == NULL || !l->exists || l->cluster == NULL) {
        *text = arena_f(a, "LocalQueue %.*s doesn't exist", STR_ARG(name));
        return "Misconfigured";
    }
    if (l->stopped) {
        *text = arena_f(a, "LocalQueue %.*s is stopped", STR_ARG(name));
        return "Suspended";
    }
    struct str cq = str_of(l->cluster);
    const struct cluster_state *s = map_get(&c->clusters, cq);
    if (s == NULL || !s->exists) {
        *text = arena_f(a, "ClusterQueue %.*s doesn't exist", STR_ARG(cq));
        return "Misconfigured";
    }
    if (!queue_cluster_active(c, cq)) {
        *text = arena_f(a, "ClusterQueue %.*s is %s", STR_ARG(cq), s->stopped ? "stopped" : "inactive");
        return "Suspended";
    }
    if (!namespace_matches(c, s, w->metadata->namespace)) {
        *text = STR("workload namespace doesn't match ClusterQueue selector");
        return "Misconfigured";
    }
    struct str gates = annotation(w->metadata, "kueue.x-k8s.io/admission-gated-by");
    if (!str_empty(gates)) {
        *text = arena_f(a, "Admission is gated by: %.*s", STR_ARG(gates));
        return "AdmissionGated";
    }
    return NULL;
}

/* Until when a back-off keeps it out: 0 now, INT64_MAX until somebody says so. */
static int64_t kept_out(const struct workload *w, int64_t now) {
    const struct condition *r =
        w->status != NULL ? condition_find(&w->status->conditions, "Requeued") : NULL;
    if (w->status != NULL && w->status->requeue_state != NULL &&
        w->status->requeue_state->requeue_at_ns > now) {
        return w->status->requeue_state->requeue_at_ns - now;
    }
    return r != NULL && str_is(r->status, "False") ? INT64_MAX : 0;
}

static enum work pending(struct queue_controller *c, const struct object *o,
                         const struct workload *w, struct queue_work *q) {
    struct str text;
    const char *why = not_queueable(c, w, q, &text);
    (void)queue_count(c, q,
                      why != NULL && str_is(str_of(why), "Deactivated") ? QW_IDLE : QW_PENDING);
    if (why != NULL) {
        forget(c, q->uid);
        return message_set(q, why, text) == 0 ? say_waits(c, o, w, q) : WORK_RETRY;
    }
    enum work back;
    if (queue_returns(c, o, w, q, &back)) {
        return back;
    }
    int64_t wait = kept_out(w, clock_wall(c->env->clock));
    if (wait > 0) {
        forget(c, q->uid);
        if (wait < INT64_MAX) {
            workqueue_add_after(c->works, q->ns, q->name, wait);
        }
        return WORK_OK;
    }
    struct workload_input in;
    bool held;
    bool known = engine_workload_known(c->engine, q->uid, &held);
    int r = translate_workload(w, str_of(q->local->cluster), &c->arena, &in);
    r = r == 0 ? engine_workload_put(c->engine, &in) : r;
    if (r == ERR_TOO_MANY) {
        struct str many = STR("the queues are full, or the workload has too many pods");
        return message_set(q, "Misconfigured", many) == 0 ? say_waits(c, o, w, q) : WORK_RETRY;
    }
    if (r != 0) {
        return WORK_RETRY;
    }
    q->asked = o->generation;
    queue_kick(c);
    if (!known) {
        q->reason = NULL; /* the engine has not looked at it yet */
        return WORK_OK;
    }
    return say_waits(c, o, w, q);
}

/* ---- the end ---- */

static enum work finalizer_drop(struct queue_controller *c, const struct object *o,
                                const struct workload *w) {
    struct patch p;
    bool there = false;
    patch_begin(&p, o);
    p.body.n--;
    buf_c(&p.body, ",\"finalizers\":[");
    for (size_t i = 0, n = 0; i < w->metadata->finalizers.n; i++) {
        if (str_is(w->metadata->finalizers.v[i], QUEUE_FINALIZER)) {
            there = true;
            continue;
        }
        buf_c(&p.body, n++ > 0 ? "," : "");
        buf_json(&p.body, w->metadata->finalizers.v[i]);
    }
    buf_c(&p.body, "]}");
    if (!there) {
        buf_release(&p.body);
        return WORK_OK;
    }
    return patch_send(c, &p, o, "", NULL);
}

enum work queue_workload_work(void *ctx, struct str ns, struct str name) {
    struct queue_controller *c = ctx;
    const struct object *o;
    int64_t wait = 0;
    if (!expect_met(c->expect, ns, name, &wait)) {
        workqueue_add_after(c->works, ns, name, wait);
        return WORK_OK;
    }
    struct workload *w = filled(c, queue_view(c, QK_WORKLOAD, ns, name, &o));
    if (o == NULL) {
        return WORK_OK;
    }
    struct queue_work *q = w != NULL ? queue_work_get(c, w) : NULL;
    if (q == NULL) {
        return WORK_RETRY;
    }
    bool orphan = o->n_owners == 0;
    if (ended(w) || (o->deleting_ns != 0 && (orphan || !reserves(w)))) {
        (void)queue_count(c, q, QW_IDLE);
        forget(c, q->uid);
        return o->deleting_ns != 0 && orphan ? finalizer_drop(c, o, w) : WORK_OK;
    }
    if (reserves(w)) { /* also while it goes: until its owner has stopped */
        int r = hold(c, w, q);
        return r == ERR_NOMEM ? WORK_RETRY : queue_drain(c, o, w, q);
    }
    if (q->written) { /* its quota was taken away: it starts anew */
        q->written = false;
        forget(c, q->uid);
    }
    size_t n;
    struct str cq, text;
    const struct held_amount *held = engine_workload_held(c->engine, q->uid, &n, &cq);
    if (held != NULL &&
        q->asked != o->generation) { /* edited since: it was decided about another one */
        forget(c, q->uid);
        held = NULL;
    }
    if (held != NULL && not_queueable(c, w, q, &text) == NULL) {
        (void)queue_count(c, q, QW_PENDING);
        return write_admission(c, o, w, held, n, cq);
    }
    return pending(c, o, w, q);
}

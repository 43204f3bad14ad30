/*
 * booking_objects_end: what runs and what waits in a booking.
 *
 * Before the end, work is warned: annotations on its Workload, and an Event for each warning. After it, what waits is
 * sent on to the project's own queue: by the label of the job where a job made the Workload, else by the Workload
 * itself. Work that holds quota is left to the queues: it borrows, is preempted, or drained.
 */
#include "control/berths/booking_objects_private.h"
#include "control/kit/edit.h"
#include "control/load/workload_draft.h"

#include "api/conditions.h"
#include "api/meta.h"
#include "wire/text/time.h"

enum { GRACE_DEFAULT_S = 30, GRACE_MAX_S = 600 };

struct look {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    struct berth_booking *b;
    struct str to; /* the project's own queue; empty: none */
};

/* ---- whose Workloads they are ---- */

struct sorting { /* of one project */
    struct booking_objects_controller *c;
    struct map by_queue, by_local; /* of ClusterQueues, of LocalQueues */
};

static bool holds(const struct workload *w) {
    return w->status != NULL && w->status->admission != NULL;
}

static int64_t grace_of(const struct workload *w) {
    int64_t most = 0;
    for (size_t i = 0; i < w->spec->pod_sets.n; i++) {
        const struct pod_template *t = w->spec->pod_sets.v[i].template;
        int64_t s = GRACE_DEFAULT_S;
        if (t != NULL && t->spec != NULL && t->spec->termination_grace_period_seconds.set) {
            s = t->spec->termination_grace_period_seconds.v;
        }
        s = s < GRACE_MAX_S ? s : GRACE_MAX_S;
        most = s > most ? s : most;
    }
    return most * NS_PER_SEC;
}

/* What holds quota is where it holds it, the rest where it waits. */
static struct berth_booking *owner_of(struct sorting *s, const struct workload *w) {
    return holds(w) ? map_get(&s->by_queue, w->status->admission->cluster_queue)
                    : map_get(&s->by_local, w->spec->queue_name);
}

static bool sort_one(void *ctx, const struct object *o) {
    struct sorting *s = ctx;
    if (!str_contains(o->json, STR("\"rsv-"))) {
        return true;
    }
    const struct workload *w = booking_views_get(&s->c->views, o, &schema_workload);
    if (w == NULL || w->spec == NULL) {
        return true;
    }
    if (w->status != NULL && conditions_true(&w->status->conditions, "Finished")) {
        booking_views_hollow(&s->c->views, o);
        return true;
    }
    struct berth_booking *b = owner_of(s, w);
    struct booking_work *x = b != NULL ? ARENA_NEW(&s->c->base.arena, struct booking_work) : NULL;
    if (x != NULL) {
        *x = (struct booking_work){b->works, o, holds(w), holds(w) ? grace_of(w) : 0};
        b->works = x;
    }
    return true;
}

/* Of a project all at once: thousands of bookings may end together, and there are more Workloads. */
static int sort_works(struct booking_objects_controller *c, struct booking_picture *p,
                      struct str ns) {
    struct sorting s = {.c = c};
    int r = 0;
    for (size_t i = 0; r == 0 && i < p->n; i++) {
        struct berth_booking *b = &p->v[i];
        if (!str_eq(b->ns, ns)) {
            continue;
        }
        b->works_read = true;
        if (!b->handed_over && b->local_name.n > 0) {
            r = map_put(&s.by_local, b->local_name, b, NULL);
            r = r != 0 ? r : map_put(&s.by_queue, b->queue_name, b, NULL);
        }
    }
    if (r == 0) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_WORKLOAD], ns, sort_one, &s);
    }
    map_release(&s.by_local);
    map_release(&s.by_queue);
    return r;
}

void booking_workloads_look(struct booking_objects_controller *c, struct booking_picture *p,
                            struct berth_booking *b) {
    if (!b->works_read && b->ns.n > 0 && sort_works(c, p, b->ns) != 0) {
        c->views.failed = true;
    }
    b->looked = true;
    b->holding = b->waiting = 0;
    b->grace_ns = b->lead_ns;
    for (const struct booking_work *w = b->works; w != NULL; w = w->next) {
        b->holding += w->holds;
        b->waiting += !w->holds;
        b->grace_ns = w->grace_ns > b->grace_ns ? w->grace_ns : b->grace_ns;
    }
    int64_t least = (b->end - b->start) / 4; /* nobody starts just before the end either */
    least = least < GRACE_DEFAULT_S * NS_PER_SEC ? least : GRACE_DEFAULT_S * NS_PER_SEC;
    b->grace_ns = b->grace_ns > least ? b->grace_ns : least;
}

/* ---- warnings ---- */

static int64_t warning_of(const struct booking_picture *p, size_t i) {
    int64_t ns;
    return duration_parse(p->policy->warnings.v[i], &ns, NULL) == 0 ? ns : 0;
}

int64_t booking_first_warning(const struct booking_picture *p) {
    int64_t most = 0;
    for (size_t i = 0; i < p->policy->warnings.n; i++) {
        int64_t ns = warning_of(p, i);
        most = ns > most ? ns : most;
    }
    return most;
}

int64_t booking_last_warning(const struct booking_picture *p) {
    int64_t last = 0;
    for (size_t i = 0; i < p->policy->warnings.n; i++) {
        int64_t ns = warning_of(p, i);
        last = ns > 0 && (last == 0 || ns < last) ? ns : last;
    }
    return last;
}

/* The warning that is due: its text, as the policy has it; the next one wakes. */
static struct str due_warning(struct booking_picture *p, const struct berth_booking *b) {
    struct str text = {0};
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < p->policy->warnings.n; i++) {
        int64_t ns = warning_of(p, i);
        if (b->end - ns > p->now) {
            booking_wake(p, b->end - ns);
        } else if (ns > 0 && ns < best) {
            best = ns;
            text = p->policy->warnings.v[i];
        }
    }
    return text;
}

static const char *what_then(struct str policy) {
    return str_is(policy, "hard")    ? "this is stopped, so that its GPUs are free by then"
           : str_is(policy, "drain") ? "then this is stopped with its grace period"
                                     : "then this runs on borrowed GPUs until somebody needs them";
}

static void warn(struct look *l, const struct object *o, const struct workload *w, struct str due) {
    struct arena *a = &l->c->scratch;
    struct meta want = *w->metadata;
    char end[TIME_TEXT_MAX];
    const struct str none = {0};
    arena_reset(a);
    if (meta_set(&want.annotations, a, BOOKING_ENDS,
                 due.n > 0 ? time_text(l->b->end, end) : none) != 0 ||
        meta_set(&want.annotations, a, BOOKING_WARNED, due.n > 0 ? due : none) != 0) {
        return;
    }
    if (edit_send_meta(l->p->round, o, 0, w->metadata, &want) == 0 && due.n > 0) {
        recorder_event(l->c->base.recorder, o, EVENT_WARNING, "ReservationEnding",
                       "Reservation %.*s ends at %.*s, in %.*s: %s", STR_ARG(l->b->name),
                       STR_ARG(meta_annotation(&want, BOOKING_ENDS)), STR_ARG(due),
                       what_then(l->b->end_policy));
    }
}

/* ---- sending on ---- */

/* "default", or else the first that is not of a booking. */
static bool own_queue(void *ctx, const struct object *o) {
    struct look *l = ctx;
    if (o->deleting_ns != 0 ||
        str_is(object_label(o, STR(BOOKING_MANAGED_LABEL)), BOOKING_MANAGED)) {
        return true;
    }
    if (l->to.n == 0 || str_is(o->name, "default")) {
        l->to = o->name;
    }
    return !str_is(o->name, "default");
}

/* The object whose label says where the Workload queues; NULL: the Workload stands for itself. */
static const struct object *job_of(struct look *l, const struct object *o) {
    const struct owner_ref *owner = object_controller(o);
    const struct object *job =
        owner != NULL ? mirror_owner(l->c->base.env.mirror, o->ns, owner) : NULL;
    return job != NULL && str_eq(object_label(job, STR(BOOKING_QUEUE_LABEL)), l->b->local_name)
               ? job
               : NULL;
}

/* Why it moved, on the metadata; and where to, on a job's. */
static int moved(struct look *l, struct meta *m, bool job) {
    struct arena *a = &l->c->scratch;
    char end[TIME_TEXT_MAX];
    struct str why = arena_f(a, "from LocalQueue %.*s: reservation %.*s ended at %.*s",
                             STR_ARG(l->b->local_name), STR_ARG(l->b->name),
                             STR_ARG(time_text(l->b->closing, end)));
    int r = why.p != NULL ? meta_set(&m->annotations, a, BOOKING_MOVED, why) : ERR_NOMEM;
    return r == 0 && job ? meta_set(&m->labels, a, BOOKING_QUEUE_LABEL, l->to) : r;
}

static int move_job(struct look *l, const struct object *job, struct buf *out) {
    struct meta *was, want;
    int r = edit_read_meta(job, &l->c->scratch, &was);
    if (r == 0) {
        want = *was;
        r = moved(l, &want, true);
    }
    if (r != 0) {
        return r;
    }
    return edit_write_meta(job, 0, was, &want, out);
}

static int move_workload(struct look *l, const struct object *o, struct buf *out) {
    struct workload_draft was, want;
    struct workload_draft_spec spec;
    struct meta meta;
    yyjson_doc *d;
    int r = object_tree(o, &l->c->scratch, &d, NULL);
    if (r == 0) {
        r = workload_draft_read(yyjson_doc_get_root(d), &l->c->scratch, &was);
    }
    if (r != 0) {
        return r;
    }
    meta = *was.metadata;
    spec = *was.spec;
    spec.queue_name = l->to;
    want = (struct workload_draft){&meta, &spec};
    r = moved(l, &meta, false);
    if (r != 0) {
        return r;
    }
    return workload_draft_patch(o, 0, &was, &want, out);
}

static void send_on(struct look *l, const struct object *o) {
    const struct object *job = job_of(l, o), *of = job != NULL ? job : o;
    struct buf b;
    if (l->to.n == 0) {
        l->b->missing_queue = true;
        recorder_event(l->c->base.recorder, o, EVENT_WARNING, "ReservationEnded",
                       "Reservation %.*s is over, and project %.*s has no LocalQueue of its own "
                       "to wait in",
                       STR_ARG(l->b->name), STR_ARG(o->ns));
        return;
    }
    arena_reset(&l->c->scratch);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    if ((job != NULL ? move_job(l, job, &b) : move_workload(l, o, &b)) == 0) {
        round_patch(l->p->round, of->kind, of->ns, of->name, "", PATCH_MERGE, buf_view(&b));
        recorder_event(l->c->base.recorder, of, EVENT_NORMAL, "ReservationEnded",
                       "Waits in LocalQueue %.*s from now on: reservation %.*s is over",
                       STR_ARG(l->to), STR_ARG(l->b->name));
    }
    buf_release(&b);
}

static void act(struct look *l, const struct booking_work *x) {
    if (l->b->closing != 0) {
        if (!x->holds) {
            send_on(l, x->obj);
        }
        return;
    }
    const struct workload *w =
        x->holds ? booking_views_get(&l->c->views, x->obj, &schema_workload) : NULL;
    if (w != NULL) {
        warn(l, x->obj, w, due_warning(l->p, l->b));
    }
}

void booking_workloads_act(struct booking_objects_controller *c, struct booking_picture *p,
                           struct berth_booking *b) {
    struct look l = {.c = c, .p = p, .b = b};
    if (b->closing == 0) {
        (void)due_warning(p, b); /* wakes for the next, also when nothing runs yet */
    }
    if (!b->looked || b->ns.n == 0 || b->holding + b->waiting == 0) {
        return;
    }
    if (b->closing != 0) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_LOCAL_QUEUE], b->ns, own_queue, &l);
    }
    for (const struct booking_work *x = b->works; x != NULL; x = x->next) {
        act(&l, x);
    }
}

/*
 * reservation_decide: what a booking asks for, whether limits and the calendar allow it, who must approve it; the first
 * decision, changes, and the waitlist.
 */
#include "control/book/reservation_private.h"

#include "api/meta.h"
#include "base/keyed_hash.h"

enum { SCAN_STEPS_MAX = 64 };

static int64_t sec(int64_t ns) {
    return ns / NS_PER_SEC;
}

struct str plan_user(const struct reservation *r) {
    const struct reservation_beneficiary *b = r->spec->beneficiary;
    if (b && b->name.n > 0 && !str_is(b->kind, "Group")) {
        return b->name;
    }
    return meta_annotation(r->metadata, RESERVATION_USER_ANNOTATION);
}

/* ---- amounts ---- */

/* "nvidia.com/mig-3g.71gb" where nobody knows the card: by its compute slices. */
static int64_t share_of_name(struct str resource) {
    static const int32_t eighths[] = {0, 1, 2, 4, 4, 5, 6, 8};
    struct str profile = str_skip(resource, sizeof "nvidia.com/mig-" - 1);
    if (!str_starts(resource, STR("nvidia.com/mig-")) || profile.n == 0 || profile.p[0] < '1' ||
        profile.p[0] > '7') {
        return BOOKING_GPU;
    }
    return booking_share(eighths[profile.p[0] - '0'], 8);
}

int64_t plan_share(const struct reservation_controller *c, const struct calendar_line *line) {
    struct calendar_type t;
    for (size_t pos = 0; calendar_type_next(c->calendar, &pos, &t);) {
        bool there = str_eq(t.resource, line->resource) &&
                     (line->n_flavors == 0 || str_eq(t.flavor, line->flavors[0]));
        if (there) {
            return t.cards ? booking_share(t.size, t.slices) : share_of_name(line->resource);
        }
    }
    return share_of_name(line->resource);
}

static uint64_t mix(uint64_t h, struct str s) {
    return (h ^ keyed_hash(s)) * UINT64_C(0x9E3779B97F4A7C15) + s.n;
}

static uint64_t mix_i(uint64_t h, int64_t v) {
    return mix(h, (struct str){(const char *)&v, sizeof v});
}

uint64_t plan_want_hash(const struct reservation_spec *s) {
    uint64_t h = mix_i(mix_i((uint64_t)s->lines.n, sec(s->start_ns)), sec(s->end_ns));
    for (size_t i = 0; i < s->lines.n; i++) {
        const struct reservation_line *l = &s->lines.v[i];
        h = mix(mix_i(mix_i(mix(h, l->resource), l->count), l->same_node), l->flavor);
        h = mix_i(h, (int64_t)l->any_of.n);
        for (size_t k = 0; k < l->any_of.n; k++) {
            h = mix(h, l->any_of.v[k]);
        }
    }
    h = mix_i(h, s->flexible != NULL);
    if (s->flexible) {
        h = mix_i(mix_i(h, sec(s->flexible->earliest_ns)), sec(s->flexible->latest_ns));
        h = mix_i(h, sec(s->flexible->min_duration_ns));
    }
    return mix(h, s->class_name);
}

int plan_want_of(struct reservation_controller *c, const struct reservation_spec *s, struct str id,
                 int64_t created, struct arena *a, struct plan_want *ret) {
    const struct reservation_pool *pool = c->policy.spec->pool;
    struct calendar_line *lines = ARENA_ARRAY(a, struct calendar_line, s->lines.n + 1);
    if (lines == NULL) {
        return ERR_NOMEM;
    }
    *ret = (struct plan_want){.ask = {.id = id,
                                      .start = sec(s->start_ns),
                                      .end = sec(s->end_ns),
                                      .lines = lines,
                                      .n_lines = s->lines.n,
                                      .rank = plan_rank(s->class_name),
                                      .order = created}};
    for (size_t i = 0; i < s->lines.n; i++) {
        const struct reservation_line *l = &s->lines.v[i];
        lines[i] = (struct calendar_line){.resource = l->resource,
                                          .count = l->count,
                                          .flavors = l->flavor.n ? &l->flavor : l->any_of.v,
                                          .n_flavors = l->flavor.n ? 1 : l->any_of.n,
                                          .same_node = l->same_node};
        if (lines[i].n_flavors == 0 && pool) {
            lines[i].flavors = pool->flavors.v;
            lines[i].n_flavors = pool->flavors.n;
        }
        ret->units += l->count;
        ret->share += l->count * plan_share(c, &lines[i]);
    }
    if (s->flexible) {
        const struct reservation_flexible *f = s->flexible;
        ret->earliest = f->earliest_ns ? sec(f->earliest_ns) : ret->ask.start;
        ret->latest = f->latest_ns ? sec(f->latest_ns) : ret->ask.end;
        ret->min_s = f->min_duration_ns ? sec(f->min_duration_ns) : ret->ask.end - ret->ask.start;
    }
    return 0;
}

int64_t plan_gpu_ms(struct reservation_controller *c, const struct booking *b, int64_t from,
                    int64_t to) {
    (void)c;
    return to > from ? booking_gpu_ms(b->share, 1, to - from) : 0;
}

const char *plan_approver(struct reservation_controller *c, const struct reservation_spec *s,
                          struct str ns, const struct plan_want *w, int64_t length) {
    const struct reservation_policy_spec *p = c->policy.spec;
    for (size_t i = 0; i < p->approval.n; i++) {
        const struct reservation_match *m = p->approval.v[i].match;
        bool yes = m == NULL || ((m->class_name.n == 0 || str_eq(m->class_name, s->class_name)) &&
                                 w->units >= m->min_units && length >= sec(m->min_duration_ns) &&
                                 (m->project.n == 0 || str_eq(m->project, ns)));
        if (yes) {
            struct str by = p->approval.v[i].by;
            return str_is(by, "admin") ? "admin" : str_is(by, "manager") ? "manager" : NULL;
        }
    }
    return NULL;
}

/* ---- the judgement ---- */

int plan_judge(struct reservation_controller *c, const struct reservation *r, struct str ns,
               const struct plan_want *w, struct booking *instead, struct plan_outcome *ret) {
    struct calendar_ask ask = w->ask;
    struct str id = instead ? instead->uid : (struct str){0};
    *ret = (struct plan_outcome){.start = ask.start, .end = ask.end};
    int code = plan_limits_check(c, r, ns, w, instead, ret);
    if (code != 0 || ret->n_refusals > 0) {
        ret->verdict = PLAN_LIMITS;
        return code;
    }
    ret->approver = plan_approver(c, r->spec, ns, w, ask.end - ask.start);
    if (w->min_s > 0) {
        int64_t from = w->earliest > plan_now(c) ? w->earliest : plan_now(c);
        if (calendar_fit(c->calendar, &ask, id, from, w->latest, w->min_s, &ret->start,
                         &ret->end) == 0) {
            ret->verdict = PLAN_FITS;
            return 0;
        }
    }
    struct arena a;
    struct calendar_plan plan;
    arena_init(&a, 64 << 20);
    code = calendar_check(c->calendar, &ask, id, &a, &plan, &ret->why);
    arena_release(&a);
    ret->verdict = code == 0 ? PLAN_FITS : PLAN_FULL;
    return code == ERR_NOMEM ? code : 0;
}

/* The same, and its place is taken when it fits. */
static int judge_and_take(struct reservation_controller *c, struct booking *b,
                          const struct reservation *r, const struct plan_want *w,
                          struct plan_outcome *ret) {
    struct calendar_ask ask = w->ask;
    int code;
    if (w->min_s == 0) { /* one look at the calendar, not two */
        *ret = (struct plan_outcome){.start = ask.start, .end = ask.end};
        code = plan_limits_check(c, r, b->ns, w, NULL, ret);
        ret->verdict = ret->n_refusals > 0 ? PLAN_LIMITS : PLAN_FITS;
        ret->approver = plan_approver(c, r->spec, b->ns, w, ask.end - ask.start);
    } else {
        code = plan_judge(c, r, b->ns, w, NULL, ret);
    }
    if (code != 0 || ret->verdict != PLAN_FITS) {
        return code;
    }
    ask.start = ret->start;
    ask.end = ret->end;
    code = calendar_insert(c->calendar, &ask, &ret->why);
    b->held = code == 0;
    ret->verdict = code == 0 ? PLAN_FITS : PLAN_FULL;
    return code == ERR_NOMEM ? code : 0;
}

static void tell_outcome(struct reservation_controller *c, struct booking *b,
                         const struct reservation *r, const struct plan_want *w,
                         const struct plan_outcome *o) {
    struct str text = plan_outcome_text(c, r, w, o, &c->scratch);
    booking_say(b, plan_outcome_reason(o), "%.*s", STR_ARG(text));
    plan_outcome_keep(c, b, r, w, o, NULL);
}

static void say_approver(struct reservation_controller *c, struct booking *b, const char *who) {
    bool admin = strcmp(who, "admin") == 0;
    b->deadline = booking_approval_until(b->created, b->start, sec(c->policy.spec->approval_ttl_ns),
                                         sec(c->policy.spec->prep_lead_ns));
    booking_say(b, admin ? "NeedsAdmin" : "NeedsManager",
                "its place is held until %s of the %s approves it",
                admin ? "an administrator" : "a manager", admin ? "cluster" : "project");
}

static bool project_gone(struct reservation_controller *c, const struct booking *b) {
    const struct object *ns = mirror_get(c->base.env.mirror, c->namespaces, STR(""), b->ns);
    return ns && ns->deleting_ns != 0;
}

static void decide_one(struct reservation_controller *c, struct booking *b, const struct object *o,
                       struct reservation *r) {
    struct plan_want w;
    struct plan_outcome out;
    int64_t now = plan_now(c);
    if (plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w) != 0) {
        return;
    }
    plan_user_set(c, b, r);
    b->generation = o->generation;
    b->want = plan_want_hash(r->spec);
    b->units = w.units;
    b->share = w.share;
    b->rank = w.ask.rank;
    b->start = w.ask.start;
    b->end = w.ask.end;
    b->since = b->created;
    if (o->deleting_ns || r->spec->cancel || project_gone(c, b)) {
        (void)plan_apply(c, b, o, project_gone(c, b) ? BOOKING_PROJECT_GONE : BOOKING_CANCEL, now);
        return;
    }
    if ((w.min_s > 0 ? w.latest : b->end) <= now) {
        booking_say(b, "Missed", "its time was over before anybody looked at it");
        (void)plan_apply(c, b, o, BOOKING_MISSED, now);
        return;
    }
    if (judge_and_take(c, b, r, &w, &out) != 0) {
        return;
    }
    if (out.verdict == PLAN_FITS) {
        b->start = out.start;
        b->end = out.end;
        if (out.approver) {
            (void)plan_apply(c, b, o, BOOKING_HOLD, now);
            say_approver(c, b, out.approver);
        } else {
            (void)plan_apply(c, b, o, BOOKING_ACCEPT, now);
        }
        return;
    }
    tell_outcome(c, b, r, &w, &out);
    if (out.verdict == PLAN_FULL && r->spec->waitlist) {
        c->given = true; /* its position in line */
        (void)plan_apply(c, b, o, BOOKING_WAIT, now);
    } else {
        (void)plan_apply(c, b, o, BOOKING_REFUSE, now);
    }
}

void plan_decide_all(struct reservation_controller *c) {
    struct booking *b;
    size_t n = c->undecided.n;
    if (n > 0) {
        plan_tentatives_trim(c); /* else a booking would be in its own way */
    }
    while (n-- > 0) {
        if (c->decide_until && clock_mono(c->base.env.clock) > c->decide_until) {
            plan_kick(c); /* others have their turn; then on, in order */
            break;
        }
        struct tree_pos p = tree_seek(&c->undecided, NULL);
        const struct object *o;
        if ((b = tree_next(&c->undecided, &p)) == NULL) {
            break;
        }
        struct reservation *r = booking_view(c, b, &c->scratch, &o);
        if (r && b->phase == BOOKING_NEW) {
            b->read = true;
            decide_one(c, b, o, r);
        }
        if (b->phase == BOOKING_NEW && (r || arena_ok(&c->scratch) != 0)) {
            /* Out of memory: it is decided when there is some, and before those that came after it. */
            workqueue_add_after(c->base.queue, b->ns, b->name, NS_PER_SEC);
            break;
        }
        plan_undecided_drop(c, b);
    }
}

/* ---- changes ---- */

static void change_refused(struct reservation_controller *c, struct booking *b,
                           const struct reservation *r, const struct plan_want *w,
                           const struct plan_outcome *out) {
    struct str text = plan_outcome_text(c, r, w, out, &c->scratch);
    booking_say(b, "ChangeRefused", "it stays as it was: %.*s", STR_ARG(text));
    plan_outcome_keep(c, b, r, w, out, b);
    booking_touch(c, b);
}

/* The other way round from plan_rank. */
static struct str class_of(int32_t rank) {
    return rank == 3   ? STR("maintenance")
           : rank == 2 ? STR("production")
           : rank == 1 ? STR("teaching")
                       : STR("standard");
}

static int approver_rank(const char *who) {
    return who == NULL ? 0 : strcmp(who, "admin") == 0 ? 2 : 1;
}

/* Whether what changed must be approved anew: by somebody higher, or because more is asked for than was approved. What
 * has begun has no time for that: only the first counts. */
static bool approve_anew(const struct booking *b, const struct plan_want *w,
                         const struct plan_outcome *out, const char *had, bool begun) {
    bool more =
        w->units > b->units || w->share > b->share || out->end - out->start > b->end - b->start;
    return approver_rank(out->approver) > approver_rank(had) ||
           (out->approver != NULL && more && !begun);
}

/* ERR_NOMEM: nothing has changed. */
static int change_held(struct reservation_controller *c, struct booking *b, const struct object *o,
                       struct reservation *r, struct plan_want *w) {
    bool begun = booking_begun(b->phase), longer = w->ask.end > b->end;
    int64_t now = plan_now(c);
    struct plan_outcome out;
    struct plan_want before = *w;
    if (begun) {
        w->ask.start = b->start;
        w->ask.fixed = true;
        w->ask.end = w->ask.end > now ? w->ask.end : now;
        w->min_s = 0;
    }
    int code = plan_judge(c, r, b->ns, w, b, &out);
    if (code != 0) {
        return code;
    }
    struct reservation_spec was = *r->spec;
    was.class_name = class_of(b->rank);
    before.units = b->units;
    const char *had = plan_approver(c, &was, b->ns, &before, b->end - b->start);
    struct calendar_ask ask = w->ask;
    ask.start = out.start;
    ask.end = out.end;
    bool anew = approve_anew(b, w, &out, had, begun);
    if (out.verdict == PLAN_FITS && begun && anew) {
        booking_say(b, "ChangeRefused",
                    "it stays as it was: so much must be approved, and it has "
                    "begun");
        booking_touch(c, b);
        return 0;
    }
    if (out.verdict == PLAN_FITS) {
        code = calendar_change(c->calendar, &ask, &out.why);
        out.verdict = code == 0 ? PLAN_FITS : PLAN_FULL;
    }
    if (code == ERR_NOMEM) {
        return code;
    }
    if (out.verdict != PLAN_FITS) {
        change_refused(c, b, r, &before, &out);
        return 0;
    }
    c->given = true;
    b->start = out.start;
    b->end = out.end;
    b->extended = 0;
    b->units = w->units;
    b->share = w->share;
    b->rank = w->ask.rank;
    b->sequence++;
    b->warned = b->warned_at = 0;
    booking_say(b, NULL, NULL);
    if (b->phase == BOOKING_PENDING_APPROVAL) {
        (void)plan_apply(c, b, o, out.approver ? BOOKING_CHANGE : BOOKING_APPROVE, now);
        if (out.approver) {
            say_approver(c, b, out.approver);
        }
    } else if (anew && b->phase == BOOKING_CONFIRMED) {
        (void)plan_apply(c, b, o, BOOKING_HOLD, now);
        say_approver(c, b, out.approver);
    } else if (!(begun && longer && plan_apply(c, b, o, BOOKING_EXTEND, now))) {
        (void)plan_apply(c, b, o, BOOKING_CHANGE, now);
    }
    return 0;
}

/* What passes a limit is not waited for: it stays as it was, and is given nothing while that is so. ERR_NOMEM: nothing
 * has changed. */
static int change_waiting(struct reservation_controller *c, struct booking *b,
                          const struct object *o, const struct reservation *r,
                          const struct plan_want *w) {
    struct plan_outcome out = {.verdict = PLAN_LIMITS, .start = w->ask.start, .end = w->ask.end};
    int code = plan_limits_check(c, r, b->ns, w, b, &out);
    if (code != 0) {
        return code;
    }
    if (out.n_refusals > 0) {
        change_refused(c, b, r, w, &out);
        return 0;
    }
    b->start = w->ask.start;
    b->end = w->ask.end;
    b->units = w->units;
    b->share = w->share;
    b->sequence++;
    booking_say(b, NULL, NULL);
    (void)plan_apply(c, b, o, BOOKING_CHANGE_WAIT, plan_now(c));
    c->given = true;
    return 0;
}

void plan_change(struct reservation_controller *c, struct booking *b, struct reservation *r) {
    const struct object *o = mirror_get(c->base.env.mirror, c->reservations, b->ns, b->name);
    uint64_t want = plan_want_hash(r->spec);
    struct plan_want w;
    if (o && b->generation != o->generation) {
        b->generation = o->generation;
        booking_touch(c, b);
    }
    if (o == NULL || want == b->want || booking_final(b->phase) || b->phase == BOOKING_ENDING) {
        return;
    }
    int code = plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w);
    if (code == 0 && (b->phase == BOOKING_WAITLISTED || b->phase == BOOKING_OFFERED)) {
        code = change_waiting(c, b, o, r, &w);
    } else if (code == 0 && b->held) {
        code = change_held(c, b, o, r, &w);
    }
    if (code == 0) {
        b->want = want;
    } else {
        workqueue_add_after(c->base.queue, b->ns, b->name, NS_PER_SEC);
    }
}

/* ---- the waitlist ---- */

/* What its user had booked of the last 30 days: GPU milliseconds. */
static int64_t recent_use(const struct reservation_controller *c, const struct booking *of) {
    int64_t now = plan_now(c), since = now - 30 * PLAN_DAY, sum = 0;
    const struct plan_scope *s = of->of_user;
    struct tree_pos at;
    for (const struct booking *b = s ? plan_scope_first(s, since, &at) : NULL;
         b && b->counted_at <= now; b = tree_next(&s->by_start, &at)) {
        sum += b->end > since && b->active ? b->committed_ms : 0;
    }
    return sum;
}

/* ERR_FORBIDDEN: it is given nothing now; what it waits for may have changed since limits were asked. ERR_NOMEM. */
static int waiter_fill(struct reservation_controller *c, struct booking *b, struct reservation *r,
                       struct booking_waiter *ret) {
    struct plan_want w = {0};
    struct plan_outcome out = {0};
    int code = plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w);
    if (code == 0) {
        code = plan_limits_check(c, r, b->ns, &w, b, &out);
    }
    if (code != 0 || out.n_refusals > 0) {
        return code != 0 ? code : ERR_FORBIDDEN;
    }
    *ret = (struct booking_waiter){.ask = w.ask,
                                   .earliest = w.earliest,
                                   .latest = w.latest,
                                   .min_s = w.min_s,
                                   .class_rank = w.ask.rank,
                                   .used = recent_use(c, b),
                                   .since = b->since,
                                   .name = str_from(b->text, b->ns.n + 1 + b->name.n),
                                   .passes = b->passes};
    return 0;
}

static void granted(struct reservation_controller *c, struct booking *b,
                    const struct booking_waiter *v) {
    const struct object *o;
    struct reservation *r = booking_view(c, b, &c->scratch, &o);
    struct plan_want w;
    int64_t now = plan_now(c);
    if (r == NULL || plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w) != 0) {
        (void)calendar_remove(c->calendar, b->uid);
        plan_again(c);
        return;
    }
    b->held = true;
    b->start = v->start;
    b->end = v->end;
    b->position = 0;
    b->passes = 0;
    b->sequence++;
    booking_say(b, NULL, NULL);
    b->units = w.units;
    b->share = w.share;
    const char *by = plan_approver(c, r->spec, b->ns, &w, b->end - b->start);
    if (by) {
        (void)plan_apply(c, b, o, BOOKING_HOLD, now);
        say_approver(c, b, by);
    } else if (r->spec->confirm_offer && !r->spec->claim) {
        b->deadline = booking_offer_until(now, b->start, sec(c->policy.spec->offer_window_ns));
        (void)plan_apply(c, b, o, BOOKING_OFFER, now);
        booking_say(b, "RoomFound", "there is room: claim it before the deadline");
    } else {
        (void)plan_apply(c, b, o, BOOKING_ROOM, now);
    }
}

void plan_waitlist(struct reservation_controller *c) {
    struct booking_waiter *v = NULL;
    size_t n = 0, cap = 0;
    for (const struct plan_link *l = c->waiting; l; l = l->next) {
        cap++;
    }
    int code = 0;
    v = ARENA_ARRAY(&c->scratch, struct booking_waiter, cap + 1);
    for (const struct plan_link *l = c->waiting; v && l && code != ERR_NOMEM; l = l->next) {
        struct booking *b = l->booking;
        struct reservation *r = booking_view(c, b, &c->scratch, NULL);
        if (r && r->spec->cancel == NULL && b->want == plan_want_hash(r->spec)) {
            code = waiter_fill(c, b, r, &v[n]);
            n += code == 0;
        }
    }
    /* Nobody comes before his turn because there was no memory for whoever is before him. */
    if (arena_ok(&c->scratch) != 0 || code == ERR_NOMEM ||
        booking_waitlist_run(c->calendar, v, n, plan_now(c)) != 0) {
        plan_again(c);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct booking *b = booking_by_uid(c, v[i].ask.id);
        if (b == NULL) {
            continue;
        }
        b->passes += v[i].passed;
        if (v[i].granted) {
            granted(c, b, &v[i]);
        } else if (b->position != v[i].position) {
            b->position = v[i].position;
            booking_touch(c, b);
        }
    }
}

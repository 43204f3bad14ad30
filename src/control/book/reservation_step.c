/*
 * reservation_step: one booking through its states. Which event leads where is core/booking's table; here is when
 * events come, and what they do to the calendar, the cost and the people.
 */
#include "control/book/reservation_private.h"

#include "wire/text/time.h"

enum { STEPS_MAX = 32, EXTEND_STEP_S = 1800, EXTEND_BEFORE_S = 600, AGAIN_S = 60 };
/* Nobody is blamed for our own silence. */
enum { NO_SHOW_GRACE_S = 600 };

static int64_t sec(int64_t ns) {
    return ns / NS_PER_SEC;
}

/* ---- what an event does ---- */

static void give_back(struct reservation_controller *c, struct booking *b) {
    if (b->held) {
        (void)calendar_remove(c->calendar, b->uid);
        b->held = false;
        c->given = true;
    }
    booking_broken(c, b, false);
    b->durable = false;
}

/* Time without what was booked, up to `at`. */
static void count_lost(struct booking *b, int64_t at) {
    int64_t to = at < b->end ? at : b->end;
    int64_t from = b->lost_from > b->start ? b->lost_from : b->start;
    if (b->lost_from && to > from) {
        b->lost += to - from;
    }
    b->lost_from = 0;
}

static void charge(struct reservation_controller *c, struct booking *b, int64_t at) {
    int64_t end = at < b->end ? at : b->end;
    int64_t had = end - b->start - b->lost;
    b->charged_ms = plan_gpu_ms(c, b, 0, had > 0 ? had : 0);
}

static void effects(struct reservation_controller *c, struct booking *b, uint32_t fx, int64_t at) {
    if (fx & BOOKING_END_NOW) {
        b->end = at < b->end ? at : b->end;
    }
    if (fx & BOOKING_GIVE) {
        give_back(c, b);
    }
    if (fx & BOOKING_COMMIT) {
        b->committed_ms = plan_gpu_ms(c, b, b->start, b->end);
    }
    if (fx & BOOKING_REFUND) {
        b->committed_ms = 0;
    }
    if (fx & BOOKING_CLOSE_LEDGER) {
        charge(c, b, at);
    }
    if (fx & BOOKING_TO_BACK) {
        b->since = at;
    }
}

/* Reasons that the event itself gives; others were set by who knows more. */
static void reason_of(struct booking *b, enum booking_event e) {
    switch (e) {
    case BOOKING_ACCEPT:
    case BOOKING_APPROVE:
    case BOOKING_ROOM:
    case BOOKING_CLAIM:
    case BOOKING_PREPARE:
    case BOOKING_START:
    case BOOKING_READY:
    case BOOKING_RESTORED:
        booking_say(b, booking_event_name(e), NULL);
        break;
    case BOOKING_APPROVAL_OVER:
        booking_say(b, "ApprovalOver", "nobody approved it in time");
        break;
    case BOOKING_OFFER_OVER:
        booking_say(b, "OfferOver", "the offer was not claimed in time; it waits again");
        break;
    case BOOKING_TOO_LATE:
        booking_say(b, "TooLate", "no room was found before its last useful start");
        break;
    case BOOKING_PROJECT_GONE:
        booking_say(b, "ProjectDeleted", "its project is being deleted");
        break;
    case BOOKING_LATE:
        booking_say(b, "NotReadyAtStart", "what it needs is not ready; its time is not charged");
        break;
    case BOOKING_LOST:
        booking_say(b, "HardwareLost", "a GPU of its plan is gone, and there is no other");
        break;
    case BOOKING_NO_SHOW:
        booking_say(b, "NoShow", "nobody came: it was given back");
        break;
    case BOOKING_NO_SHOW_WARN:
        booking_say(b, "NotUsed", "nothing runs in it");
        break;
    case BOOKING_END:
        booking_say(b, "TimeOver", NULL);
        break;
    case BOOKING_DRAINED:
        booking_say(b, "Drained", NULL);
        break;
    case BOOKING_MISSED:
        if (b->phase != BOOKING_NEW) {
            booking_say(b, "ControllerDown",
                        "nobody was there from its start to its end; it is "
                        "not charged");
        }
        break;
    default:
        break;
    }
}

static bool is_bad_news(enum booking_event e) {
    static const enum booking_event bad[] = {
        BOOKING_REFUSE,       BOOKING_REJECT,       BOOKING_APPROVAL_OVER, BOOKING_OFFER_OVER,
        BOOKING_TOO_LATE,     BOOKING_PROJECT_GONE, BOOKING_LATE,          BOOKING_LOST,
        BOOKING_NO_SHOW_WARN, BOOKING_NO_SHOW,      BOOKING_WARN,          BOOKING_MISSED};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i] == e) {
            return true;
        }
    }
    return false;
}

static void tell(struct reservation_controller *c, const struct booking *b, const struct object *o,
                 enum booking_event e, enum booking_phase from) {
    char text[TIME_TEXT_MAX];
    struct str end = time_text(b->end * NS_PER_SEC, text);
    if (e == BOOKING_WARN) {
        recorder_event(c->base.recorder, o, EVENT_WARNING, "EndsSoon", "it ends at %.*s",
                       STR_ARG(end));
        return;
    }
    recorder_event(
        c->base.recorder, o, is_bad_news(e) ? EVENT_WARNING : EVENT_NORMAL, booking_event_name(e),
        "%s to %s%s%s", from == BOOKING_NEW ? "new" : booking_phase_name(from),
        booking_phase_name(b->phase), b->message ? ": " : "", b->message ? b->message : "");
}

bool plan_apply(struct reservation_controller *c, struct booking *b, const struct object *o,
                enum booking_event e, int64_t at) {
    enum booking_phase from = b->phase, to;
    uint32_t fx;
    if (booking_step(from, e, &to, &fx) != 0) {
        return false;
    }
    int64_t now = plan_now(c);
    reason_of(b, e);
    if (from == BOOKING_DEGRADED && to != BOOKING_DEGRADED) {
        count_lost(b, at);
    }
    effects(c, b, fx, at);
    b->phase = to;
    if (to == BOOKING_DEGRADED && from != BOOKING_DEGRADED) {
        b->lost_from = at > b->start ? at : b->start;
    }
    if ((to == BOOKING_ACTIVE || to == BOOKING_DEGRADED) && at >= b->start && b->active == 0) {
        b->active = at;
    }
    if (booking_holds(to) && b->decided == 0) {
        b->decided = now;
    }
    if (to == BOOKING_CONFIRMED || to == BOOKING_WAITLISTED) {
        b->deadline = 0;
    }
    if (to != BOOKING_WAITLISTED) {
        b->position = 0;
    }
    if (booking_final(to)) {
        b->ended = now;
        give_back(c, b);
    }
    if (booking_begun(to) && b->held) {
        (void)calendar_pin(c->calendar, b->uid, true);
    }
    tell(c, b, o, e, from);
    booking_touch(c, b);
    return true;
}

/* ---- the clock ---- */

static int64_t no_show_after(const struct reservation_controller *c, const struct reservation *r,
                             struct str *ret_action) {
    const struct reservation_no_show *mine = r->spec->no_show, *all = c->policy.spec->no_show;
    int64_t after = mine && mine->after_ns ? mine->after_ns : all ? all->after_ns : 0;
    *ret_action = mine && mine->action.n ? mine->action : all ? all->action : STR("warn");
    return sec(after);
}

static void warnings_of(const struct reservation_controller *c, struct booking_clock *k) {
    static const int64_t usual[] = {1800, 900, 300};
    const struct str_list *l = &c->policy.spec->warnings;
    for (size_t i = 0; i < l->n && k->n_warnings < BOOKING_WARNINGS_MAX; i++) {
        int64_t ns;
        if (duration_parse(l->v[i], &ns, NULL) == 0 && ns > 0) {
            k->warnings_s[k->n_warnings++] = sec(ns);
        }
    }
    for (size_t i = 0; l->n == 0 && i < sizeof usual / sizeof *usual; i++) {
        k->warnings_s[k->n_warnings++] = usual[i];
    }
}

void plan_clock(struct reservation_controller *c, const struct booking *b,
                const struct reservation *r, struct booking_clock *k) {
    const struct reservation_policy_spec *p = c->policy.spec;
    const struct reservation_flexible *f = r->spec->flexible;
    struct str action;
    int64_t after = no_show_after(c, r, &action);
    *k = (struct booking_clock){
        .phase = b->phase,
        .start = b->start,
        .end = b->end,
        .prepare_at = b->start - sec(p->prep_lead_ns) - sec(p->reconfig_time_ns),
        .approval_until = b->phase == BOOKING_PENDING_APPROVAL ? b->deadline : 0,
        .offer_until = b->phase == BOOKING_OFFERED ? b->deadline : 0,
        .latest_start = f ? sec(f->latest_ns ? f->latest_ns : r->spec->end_ns) -
                                (f->min_duration_ns ? sec(f->min_duration_ns) : b->end - b->start)
                          : b->start,
        .drained_until = b->end + sec(p->overstay_ns),
        .warned_at = b->warned_at,
        .no_show = str_is(action, "release") ? BOOKING_NO_SHOW : BOOKING_NO_SHOW_WARN,
        .ready = b->ready && !b->broken,
        .drained = b->drained,
    };
    warnings_of(c, k);
    if (b->phase == BOOKING_ACTIVE && after > 0 && !b->in_use && !b->unused_told) {
        int64_t from = b->active > b->used ? b->active : b->used;
        int64_t sure = c->started > b->start ? c->started + NO_SHOW_GRACE_S : 0;
        k->no_show_at = from + after > sure ? from + after : sure;
    }
}

/* Longer by itself: while work runs, and only as long as the place is free and the policy's limits allow. */
static bool extend(struct reservation_controller *c, struct booking *b, const struct object *o,
                   const struct reservation *r, int64_t now) {
    const struct reservation_auto_extend *x = r->spec->auto_extend;
    struct plan_want w;
    struct plan_outcome out;
    if (x == NULL || b->phase != BOOKING_ACTIVE || !b->in_use || !b->held || now >= b->end ||
        now < b->end - EXTEND_BEFORE_S || strcmp(b->reason, "ChangeRefused") == 0) {
        return false;
    }
    int64_t left = sec(x->max_ns) - b->extended, grid = sec(c->policy.spec->granularity_ns);
    int64_t step = grid > EXTEND_STEP_S ? grid : EXTEND_STEP_S;
    int64_t want = b->end + (left < step ? left : step);
    int64_t most = left > 0 ? calendar_extend_most(c->calendar, b->uid, want) : b->end;
    if (most <= b->end || plan_want_of(c, r->spec, b->uid, b->created, &c->scratch, &w) != 0) {
        return false;
    }
    w.ask.start = b->start;
    w.ask.end = most;
    w.ask.fixed = true;
    w.min_s = 0;
    if (plan_judge(c, r, b->ns, &w, b, &out) != 0 || out.verdict != PLAN_FITS ||
        calendar_change(c->calendar, &w.ask, NULL) != 0) {
        return false;
    }
    b->extended += most - b->end;
    b->end = most;
    b->sequence++;
    b->warned = b->warned_at = 0;
    return plan_apply(c, b, o, BOOKING_EXTEND, now);
}

static bool by_clock(struct reservation_controller *c, struct booking *b, const struct object *o,
                     const struct reservation *r, int64_t now) {
    struct booking_clock k;
    int64_t at;
    plan_clock(c, b, r, &k);
    enum booking_event e = booking_due(&k, now, &at);
    if (e == BOOKING_NOTHING) {
        return false;
    }
    if (e == BOOKING_WARN) {
        b->warned_at = now;
        b->warned = b->end - now;
    } else if (e == BOOKING_NO_SHOW_WARN) {
        b->unused_told = true;
    }
    if ((e == BOOKING_START || e == BOOKING_LATE) && at < b->start) {
        at = b->start;
    }
    return plan_apply(c, b, o, e, at < now ? at : now);
}

/* ---- what people say ---- */

static bool by_people(struct reservation_controller *c, struct booking *b, const struct object *o,
                      struct reservation *r, int64_t now) {
    const struct reservation_spec *s = r->spec;
    const struct object *ns = mirror_get(c->base.env.mirror, c->namespaces, STR(""), b->ns);
    if (ns && ns->deleting_ns) {
        return plan_apply(c, b, o, BOOKING_PROJECT_GONE, now);
    }
    if (o->deleting_ns || s->cancel) {
        enum booking_phase was = b->phase;
        if (s->cancel && s->cancel->reason.n) {
            booking_say(b, "Cancelled", "%.*s", STR_ARG(s->cancel->reason));
        } else if (!booking_final(was)) {
            booking_say(b, "Cancelled", NULL);
        }
        return plan_apply(c, b, o, BOOKING_CANCEL, now);
    }
    if (b->phase == BOOKING_PENDING_APPROVAL && s->approval) {
        bool yes = str_is(s->approval->decision, "approve");
        if (!yes) {
            booking_say(b, "NotApproved", "%.*s", STR_ARG(s->approval->reason));
        }
        return plan_apply(c, b, o, yes ? BOOKING_APPROVE : BOOKING_REJECT, now);
    }
    return b->phase == BOOKING_OFFERED && s->claim && plan_apply(c, b, o, BOOKING_CLAIM, now);
}

/* What the machines say. */
static bool by_hardware(struct reservation_controller *c, struct booking *b, const struct object *o,
                        int64_t now) {
    if (b->broken && b->phase != BOOKING_DEGRADED && booking_holds(b->phase)) {
        return plan_apply(c, b, o, BOOKING_LOST, now);
    }
    return !b->broken && b->phase == BOOKING_DEGRADED && now < b->start &&
           plan_apply(c, b, o, BOOKING_RESTORED, now);
}

void plan_step(struct reservation_controller *c, struct booking *b, const struct object *o,
               struct reservation *r) {
    int64_t now = plan_now(c);
    const struct reservation_objects *made = r->status ? r->status->objects : NULL;
    bool ready = made && made->ready, drained = made && made->drained;
    b->ready = ready;
    b->drained = drained;
    if (b->in_use && b->unused_told && !booking_final(b->phase)) {
        b->unused_told = false;
        booking_touch(c, b);
    }
    if (!booking_final(b->phase) && !o->deleting_ns && r->spec->cancel == NULL) {
        plan_change(c, b, r);
    }
    for (int i = 0; i < STEPS_MAX && !booking_final(b->phase); i++) {
        if (!by_people(c, b, o, r, now) && !by_hardware(c, b, o, now) && !extend(c, b, o, r, now) &&
            !by_clock(c, b, o, r, now)) {
            break;
        }
    }
}

int64_t plan_due(struct reservation_controller *c, struct booking *b, const struct reservation *r) {
    struct booking_clock k;
    int64_t at = CALENDAR_FOREVER, now = plan_now(c);
    if (booking_final(b->phase)) {
        return b->ended ? b->ended + PLAN_KEEP_S : CALENDAR_FOREVER;
    }
    plan_clock(c, b, r, &k);
    if (booking_due(&k, now, &at) != BOOKING_NOTHING) {
        return now + 1;
    }
    if (r->spec->auto_extend && b->phase == BOOKING_ACTIVE && b->in_use) {
        int64_t look = b->end - EXTEND_BEFORE_S;
        look = look > now ? look : now + AGAIN_S;
        at = look < at ? look : at;
    }
    return at;
}

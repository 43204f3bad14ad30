/* reservation_status: the status of a booking, and the texts that people read. */
#include "control/book/reservation_private.h"

#include "api/conditions.h"
#include "api/schema/codec.h"

int64_t plan_ns(int64_t s) {
    return s == CALENDAR_FOREVER ? 0 : s * NS_PER_SEC;
}

struct reservation_line_list plan_lines(struct arena *a, const struct calendar_line *lines,
                                        size_t n) {
    struct reservation_line_list l = {ARENA_ARRAY(a, struct reservation_line, n + 1), 0};
    for (; l.v && l.n < n; l.n++) {
        const struct calendar_line *x = &lines[l.n];
        struct reservation_line *to = &l.v[l.n];
        *to = (struct reservation_line){
            .resource = x->resource, .count = (int32_t)x->count, .same_node = x->same_node};
        if (x->n_flavors == 1) {
            to->flavor = x->flavors[0];
        } else {
            to->any_of = (struct str_list){(struct str *)x->flavors, x->n_flavors};
        }
    }
    return l;
}

struct str plan_lines_text(struct arena *a, const struct calendar_line *lines, size_t n) {
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < n; i++) {
        buf_f(&b, "%s%lld x %.*s", i ? ", " : "", (long long)lines[i].count,
              STR_ARG(lines[i].resource));
    }
    struct str r = arena_str(a, buf_view(&b));
    buf_release(&b);
    return r;
}

/* The resource of a place is known from the place; of a number it is its line's. */
static struct str place_resource(const struct reservation_controller *c,
                                 const struct calendar_place *p, const struct calendar_line *lines,
                                 size_t n_lines) {
    struct calendar_type t;
    if (p->gpu.n == 0) {
        return p->line < n_lines ? lines[p->line].resource : STR(CALENDAR_GPU);
    }
    for (size_t pos = 0; p->profile.n && calendar_type_next(c->calendar, &pos, &t);) {
        if (str_eq(t.profile, p->profile) && str_eq(t.flavor, p->flavor)) {
            return t.resource;
        }
    }
    return STR(CALENDAR_GPU);
}

struct reservation_place_list plan_places(const struct reservation_controller *c,
                                          const struct calendar_plan *p,
                                          const struct calendar_line *lines, size_t n_lines,
                                          struct arena *a) {
    struct reservation_place_list l = {ARENA_ARRAY(a, struct reservation_place, p->n + 1), 0};
    for (size_t i = 0; l.v && i < p->n; i++) {
        const struct calendar_place *x = &p->v[i];
        bool card = x->gpu.n > 0, part = card && x->size;
        if (x->lost) {
            continue;
        }
        l.v[l.n++] = (struct reservation_place){.line = (int32_t)x->line,
                                                .resource = place_resource(c, x, lines, n_lines),
                                                .flavor = x->flavor,
                                                .node = card ? x->node : (struct str){0},
                                                .gpu = x->gpu,
                                                .gpu_index = {card, x->gpu_index},
                                                .profile = x->profile,
                                                .start = {part, x->start},
                                                .size = part ? x->size : 0,
                                                .count = x->count > 1 ? (int32_t)x->count : 0};
    }
    return l;
}

/* ---- conditions ---- */

static void set_conditions(struct reservation_controller *c, const struct booking *b,
                           struct arena *a, struct condition_list *l) {
    struct condition_list was = *l;
    int64_t now = plan_now(c) * NS_PER_SEC;
    bool ready = b->phase == BOOKING_ACTIVE;
    const char *reason = *b->reason ? b->reason : booking_phase_name(b->phase);
    struct str message = b->message ? str_of(b->message) : STR("");
    (void)conditions_copy(&was, a, l);
    (void)conditions_set(l, a, "Planned", b->held && !b->broken, booking_phase_name(b->phase),
                         STR(""), now, b->generation, NULL);
    (void)conditions_set(l, a, "Ready", ready, reason, message, now, b->generation, NULL);
    if (b->unused_told || conditions_find(l, "Unused")) {
        (void)conditions_set(l, a, "Unused", b->unused_told, b->unused_told ? "NotUsed" : "Used",
                             STR(""), now, b->generation, NULL);
    }
}

/* ---- the whole ---- */

static const char *event_word(enum booking_phase p, enum booking_event e) {
    switch (e) {
    case BOOKING_PREPARE:
        return "Prepare";
    case BOOKING_START:
    case BOOKING_LATE:
        return "Start";
    case BOOKING_WARN:
        return "Warn";
    case BOOKING_NO_SHOW:
    case BOOKING_NO_SHOW_WARN:
        return "NoShow";
    case BOOKING_END:
        return "End";
    case BOOKING_DRAINED:
        return "Gone";
    case BOOKING_APPROVAL_OVER:
        return "ApprovalExpires";
    case BOOKING_OFFER_OVER:
        return "OfferExpires";
    default:
        return p == BOOKING_WAITLISTED ? "Expire" : NULL;
    }
}

/* What its clock will say next; NULL: nothing. */
static struct reservation_event *next_event(struct reservation_controller *c, struct booking *b,
                                            const struct reservation *r, struct arena *a) {
    struct booking_clock k;
    int64_t at = CALENDAR_FOREVER, then;
    const char *word = NULL;
    plan_clock(c, b, r, &k);
    if (!booking_final(b->phase) && booking_due(&k, plan_now(c), &at) == BOOKING_NOTHING &&
        at < CALENDAR_FOREVER) {
        k.ready = true;
        word = event_word(b->phase, booking_due(&k, at, &then));
    }
    struct reservation_event *e = word ? ARENA_NEW(a, struct reservation_event) : NULL;
    if (e) {
        *e = (struct reservation_event){str_of(word), plan_ns(at)};
    }
    return e;
}

static struct reservation_cost *cost_of(struct reservation_controller *c, const struct booking *b,
                                        struct arena *a) {
    struct reservation_cost *k = ARENA_NEW(a, struct reservation_cost);
    if (k == NULL) {
        return NULL;
    }
    k->quoted = booking_hours_text(a, plan_gpu_ms(c, b, b->start, b->end));
    if (b->committed_ms || b->phase == BOOKING_CANCELLED) {
        k->committed = booking_hours_text(a, b->committed_ms);
    }
    if (booking_final(b->phase) && b->phase != BOOKING_REJECTED && b->phase != BOOKING_EXPIRED) {
        k->charged = booking_hours_text(a, b->charged_ms);
    }
    return k;
}

static void set_plan(struct reservation_controller *c, const struct booking *b,
                     const struct reservation *r, struct arena *a, struct reservation_status *s) {
    struct calendar_plan plan;
    struct plan_want w;
    if (!b->held) { /* of what is over it stays as it was, for people */
        s->plan.n = booking_final(b->phase) || b->phase == BOOKING_ENDING ? s->plan.n : 0;
    } else if (calendar_plan_of(c->calendar, b->uid, a, &plan) == 0 &&
               plan_want_of(c, r->spec, b->uid, b->created, a, &w) == 0) {
        s->plan = plan_places(c, &plan, w.ask.lines, w.ask.n_lines, a);
    }
}

/* What the state machine remembers. */
static void set_memory(const struct booking *b, struct arena *a, struct reservation_status *s) {
    s->decided_ns = plan_ns(b->decided);
    s->deadline_ns = plan_ns(b->deadline);
    s->active_ns = plan_ns(b->active);
    s->ended_ns = plan_ns(b->ended);
    s->used_ns = plan_ns(b->used);
    s->warned_ns = b->warned * NS_PER_SEC;
    s->extended_ns = b->extended * NS_PER_SEC;
    s->lost_ns = b->lost * NS_PER_SEC;
    s->waitlist = NULL;
    if (b->phase == BOOKING_WAITLISTED || b->phase == BOOKING_OFFERED) {
        s->waitlist = ARENA_NEW(a, struct reservation_waitlist);
        if (s->waitlist) {
            *s->waitlist = (struct reservation_waitlist){b->position, plan_ns(b->since)};
        }
    }
}

/* Why not, and what instead, as it was decided; nothing of one that has its place. */
static int set_answer(const struct booking *b, struct arena *a, struct reservation_status *s) {
    struct reservation_status told = {0};
    yyjson_doc *d;
    int r = b->extra ? json_parse(a, str_of(b->extra), &d, NULL) : 0;
    if (r == 0 && b->extra) {
        r = codec_decode(&schema_reservation_status, yyjson_doc_get_root(d), a, &told, NULL);
    }
    if (r == 0 && (b->extra || booking_holds(b->phase))) {
        s->alternatives.v = told.alternatives.v;
        s->alternatives.n = told.alternatives.n;
        s->refusals.v = told.refusals.v;
        s->refusals.n = told.refusals.n;
        s->conflicts.v = told.conflicts.v;
        s->conflicts.n = told.conflicts.n;
    }
    return r;
}

int plan_status(struct reservation_controller *c, struct booking *b, const struct reservation *r,
                struct arena *a, struct reservation_status *ret) {
    struct reservation_status s = {0};
    if (r->status) {
        s = *r->status;
    }
    s.phase = str_of(booking_phase_name(b->phase));
    s.reason = str_of(b->reason);
    s.message = str_of(b->message ? b->message : "");
    s.start_ns = plan_ns(b->start);
    s.end_ns = plan_ns(b->end);
    s.sequence = b->sequence;
    s.observed_generation = b->generation;
    set_memory(b, a, &s);
    s.cost = cost_of(c, b, a);
    s.next_event = next_event(c, b, r, a);
    set_conditions(c, b, a, &s.conditions);
    set_plan(c, b, r, a, &s);
    int code = set_answer(b, a, &s);
    *ret = s;
    return code ? code : arena_ok(a);
}

/* reservation_status: the status of a booking as a patch, and the texts that people read. */
#include "control/book/reservation_private.h"

#include "api/conditions.h"
#include "wire/text/time.h"

void plan_time_json(struct buf *b, const char *name, int64_t s) {
    char text[TIME_TEXT_MAX];
    if (s == 0 || s == CALENDAR_FOREVER) {
        buf_f(b, "\"%s\":null", name);
        return;
    }
    struct str t = time_text(s * NS_PER_SEC, text);
    buf_f(b, "\"%s\":\"%.*s\"", name, STR_ARG(t));
}

static void length_json(struct buf *b, const char *name, int64_t s) {
    char text[DURATION_TEXT_MAX];
    if (s == 0) {
        buf_f(b, "\"%s\":null", name);
        return;
    }
    struct str t = duration_text(s * NS_PER_SEC, text);
    buf_f(b, "\"%s\":\"%.*s\"", name, STR_ARG(t));
}

static void text_json(struct buf *b, const char *name, const char *text) {
    buf_f(b, "\"%s\":", name);
    if (text && *text) {
        buf_json(b, str_of(text));
    } else {
        buf_c(b, "null");
    }
}

void plan_lines_json(const struct calendar_line *lines, size_t n, struct buf *out) {
    buf_ch(out, '[');
    for (size_t i = 0; i < n; i++) {
        const struct calendar_line *l = &lines[i];
        buf_c(out, i ? ",{\"resource\":" : "{\"resource\":");
        buf_json(out, l->resource);
        buf_f(out, ",\"count\":%lld", (long long)l->count);
        if (l->n_flavors == 1) {
            buf_c(out, ",\"flavor\":");
            buf_json(out, l->flavors[0]);
        }
        for (size_t k = 0; l->n_flavors > 1 && k < l->n_flavors; k++) {
            buf_c(out, k ? "," : ",\"anyOf\":[");
            buf_json(out, l->flavors[k]);
            buf_c(out, k + 1 == l->n_flavors ? "]" : "");
        }
        buf_c(out, l->same_node ? ",\"sameNode\":true}" : "}");
    }
    buf_ch(out, ']');
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

void plan_places_json(const struct reservation_controller *c, const struct calendar_plan *p,
                      const struct calendar_line *lines, size_t n_lines, struct buf *out) {
    size_t n = 0;
    buf_ch(out, '[');
    for (size_t i = 0; i < p->n; i++) {
        const struct calendar_place *x = &p->v[i];
        if (x->lost) {
            continue;
        }
        buf_f(out, "%s{\"line\":%u,\"resource\":", n++ ? "," : "", x->line);
        buf_json(out, place_resource(c, x, lines, n_lines));
        buf_c(out, ",\"flavor\":");
        buf_json(out, x->flavor);
        if (x->gpu.n) {
            buf_c(out, ",\"node\":");
            buf_json(out, x->node);
            buf_c(out, ",\"gpu\":");
            buf_json(out, x->gpu);
            buf_f(out, ",\"gpuIndex\":%d", (int)x->gpu_index);
        }
        if (x->profile.n) {
            buf_c(out, ",\"profile\":");
            buf_json(out, x->profile);
        }
        if (x->gpu.n && x->size) {
            buf_f(out, ",\"start\":%d,\"size\":%d", (int)x->start, (int)x->size);
        }
        if (x->count > 1) {
            buf_f(out, ",\"count\":%lld", (long long)x->count);
        }
        buf_ch(out, '}');
    }
    buf_ch(out, ']');
}

/* ---- conditions ---- */

static void condition_json(struct buf *b, const struct condition *k, bool first) {
    char text[TIME_TEXT_MAX];
    struct str at = time_text(k->last_transition_ns, text);
    buf_f(b, "%s{\"type\":\"%.*s\",\"status\":\"%.*s\",\"lastTransitionTime\":\"%.*s\",\"reason\":",
          first ? "" : ",", STR_ARG(k->type), STR_ARG(k->status), STR_ARG(at));
    buf_json(b, k->reason);
    buf_c(b, ",\"message\":");
    buf_json(b, k->message);
    buf_f(b, ",\"observedGeneration\":%lld}", (long long)k->observed_generation);
}

static void conditions_json(struct reservation_controller *c, const struct booking *b,
                            const struct reservation *r, struct arena *a, struct buf *out) {
    struct condition_list l = r->status ? r->status->conditions : (struct condition_list){0};
    int64_t now = plan_now(c) * NS_PER_SEC;
    bool ready = b->phase == BOOKING_ACTIVE;
    const char *reason = *b->reason ? b->reason : booking_phase_name(b->phase);
    struct str message = b->message ? str_of(b->message) : STR("");
    (void)conditions_set(&l, a, "Planned", b->held && !b->broken, booking_phase_name(b->phase),
                         STR(""), now, b->generation, NULL);
    (void)conditions_set(&l, a, "Ready", ready, reason, message, now, b->generation, NULL);
    if (b->unused_told || conditions_find(&l, "Unused")) {
        (void)conditions_set(&l, a, "Unused", b->unused_told, b->unused_told ? "NotUsed" : "Used",
                             STR(""), now, b->generation, NULL);
    }
    buf_c(out, "\"conditions\":[");
    for (size_t i = 0; i < l.n; i++) {
        condition_json(out, &l.v[i], i == 0);
    }
    buf_ch(out, ']');
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

/* What its clock will say next. */
static void next_json(struct reservation_controller *c, struct booking *b,
                      const struct reservation *r, struct buf *out) {
    struct booking_clock k;
    int64_t at = CALENDAR_FOREVER, then;
    const char *word = NULL;
    plan_clock(c, b, r, &k);
    if (!booking_final(b->phase) && booking_due(&k, plan_now(c), &at) == BOOKING_NOTHING &&
        at < CALENDAR_FOREVER) {
        k.ready = true;
        word = event_word(b->phase, booking_due(&k, at, &then));
    }
    if (!word) {
        buf_c(out, "\"nextEvent\":null");
        return;
    }
    buf_f(out, "\"nextEvent\":{\"type\":\"%s\",", word);
    plan_time_json(out, "at", at);
    buf_ch(out, '}');
}

static void cost_json(struct reservation_controller *c, const struct booking *b, struct arena *a,
                      struct buf *out) {
    struct str quoted = booking_hours_text(a, plan_gpu_ms(c, b, b->start, b->end));
    buf_f(out, "\"cost\":{\"quoted\":\"%.*s\"", STR_ARG(quoted));
    if (b->committed_ms || b->phase == BOOKING_CANCELLED) {
        struct str t = booking_hours_text(a, b->committed_ms);
        buf_f(out, ",\"committed\":\"%.*s\"", STR_ARG(t));
    }
    if (booking_final(b->phase) && b->phase != BOOKING_REJECTED && b->phase != BOOKING_EXPIRED) {
        struct str t = booking_hours_text(a, b->charged_ms);
        buf_f(out, ",\"charged\":\"%.*s\"", STR_ARG(t));
    }
    buf_ch(out, '}');
}

static void plan_json(struct reservation_controller *c, struct booking *b,
                      const struct reservation *r, struct arena *a, struct buf *out) {
    struct calendar_plan plan;
    struct plan_want w;
    if (!b->held) { /* of what is over it stays as it was, for people */
        buf_c(out, booking_final(b->phase) || b->phase == BOOKING_ENDING ? "" : ",\"plan\":null");
        return;
    }
    if (calendar_plan_of(c->calendar, b->uid, a, &plan) == 0 &&
        plan_want_of(c, r->spec, b->uid, b->created, a, &w) == 0) {
        buf_c(out, ",\"plan\":");
        plan_places_json(c, &plan, w.ask.lines, w.ask.n_lines, out);
    }
}

static void memory_json(const struct booking *b, struct buf *out) {
    plan_time_json(out, "decidedAt", b->decided);
    buf_ch(out, ',');
    plan_time_json(out, "deadline", b->deadline);
    buf_ch(out, ',');
    plan_time_json(out, "activeAt", b->active);
    buf_ch(out, ',');
    plan_time_json(out, "endedAt", b->ended);
    buf_ch(out, ',');
    plan_time_json(out, "usedAt", b->used);
    buf_ch(out, ',');
    length_json(out, "warned", b->warned);
    buf_ch(out, ',');
    length_json(out, "extended", b->extended);
    buf_ch(out, ',');
    length_json(out, "lost", b->lost);
    if (b->phase == BOOKING_WAITLISTED || b->phase == BOOKING_OFFERED) {
        buf_f(out, ",\"waitlist\":{\"position\":%d,", (int)b->position);
        plan_time_json(out, "since", b->since);
        buf_ch(out, '}');
    } else {
        buf_c(out, ",\"waitlist\":null");
    }
}

void plan_status_json(struct reservation_controller *c, struct booking *b, const struct object *o,
                      const struct reservation *r, struct arena *a, struct buf *out) {
    buf_f(out, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"phase\":\"%s\",",
          (unsigned long long)o->rv, booking_phase_name(b->phase));
    text_json(out, "reason", b->reason);
    buf_ch(out, ',');
    text_json(out, "message", b->message);
    buf_ch(out, ',');
    plan_time_json(out, "start", b->start);
    buf_ch(out, ',');
    plan_time_json(out, "end", b->end);
    buf_f(out, ",\"sequence\":%lld,\"observedGeneration\":%lld,", (long long)b->sequence,
          (long long)b->generation);
    memory_json(b, out);
    buf_ch(out, ',');
    cost_json(c, b, a, out);
    buf_ch(out, ',');
    next_json(c, b, r, out);
    buf_ch(out, ',');
    conditions_json(c, b, r, a, out);
    plan_json(c, b, r, a, out);
    if (b->extra) {
        buf_c(out, b->extra);
    } else if (booking_holds(b->phase)) {
        buf_c(out, ",\"alternatives\":null,\"refusals\":null,\"conflicts\":null");
    }
    buf_c(out, "}}");
}

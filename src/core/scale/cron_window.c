/*
 * cron_window: where an instant lies between the starts and the ends.
 */
#include "core/scale/cron_window.h"

#include "base/buf.h"
#include "core/scale/metric_name.h"
#include "wire/text/time.h"

enum { SECOND_NS = 1000000000, HOUR_S = 3600 };

/* "TZ=NAME " or "CRON_TZ=NAME " off the front. */
static int zone_prefix(struct str *text, struct str *ret, struct err *err) {
    struct str head, tail, name;
    if (!str_starts(*text, STR("TZ=")) && !str_starts(*text, STR("CRON_TZ="))) {
        return 0;
    }
    if (!str_cut(*text, ' ', &head, &tail) || !str_cut(head, '=', &name, ret) ||
        !zone_name_ok(*ret)) {
        return err_set(err, ERR_INVALID, "provided bad location %.*s", STR_ARG(*text));
    }
    *text = str_trim(tail);
    return 0;
}

/* Five fields: a schedule by name ("@daily") is none here. */
static int schedule(const char *which, struct str text, struct cron *ret, struct str *ret_zone,
                    struct err *err) {
    int rc = zone_prefix(&text, ret_zone, err);
    if (rc == 0 && str_starts(str_trim(text), STR("@"))) {
        rc = err_set(err, ERR_INVALID, "parser does not accept descriptors: %.*s", STR_ARG(text));
    }
    rc = rc ? rc : cron_parse(text, ret, err);
    return rc == 0 ? 0 : err_wrap(err, "error parsing %s schedule", which);
}

int cron_window_parse(struct str start, struct str end, int64_t replicas, struct cron_window *ret,
                      struct err *err) {
    struct cron_window w = {.replicas = replicas};
    int rc = schedule("start", start, &w.start, &w.start_in, err);
    rc = rc ? rc : schedule("end", end, &w.end, &w.end_in, err);
    if (rc == 0) {
        *ret = w;
    }
    return rc;
}

/* ---- the next time of a schedule ---- */

/* What the clocks of a zone show at an instant. */
struct cron_clock {
    const struct zone *zone;
    int64_t at;
    struct time_parts p;
};

static struct cron_clock shown_at(const struct zone *z, int64_t at) {
    return (struct cron_clock){z, at, time_split(zone_local(z, at) * SECOND_NS)};
}

/* The instant of what clocks show, as Go's time.Date chooses it where they show it twice or never. */
static struct cron_clock of_clock(const struct zone *z, int32_t year, int month, int day, int hour,
                                  int minute, int second) {
    int64_t local = time_join(year, month, day, hour, minute, second);
    struct zone_at near = zone_at(z, local);
    int64_t at = local - near.offset;
    if (near.offset != 0 && (at < near.from || at >= near.until)) {
        at = local - zone_at(z, at).offset;
    }
    return shown_at(z, at);
}

static bool has(uint64_t set, int n) {
    return (set >> n & 1) != 0;
}

static bool day_fits(const struct cron *c, const struct time_parts *p) {
    bool day = has(c->days, p->day), weekday = has(c->weekdays, p->weekday);
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

/* Each step moves to the next month, day, hour or minute that fits. True: it wrapped, and the greater fields may fit no
 * longer. *moved: smaller fields are at their start already. */
static bool step_month(const struct cron *c, struct cron_clock *s, bool *moved) {
    while (!has(c->months, s->p.month)) {
        const struct time_parts p = s->p;
        *s = *moved ? of_clock(s->zone, p.year, p.month + 1, p.day, p.hour, p.minute, p.second)
                    : of_clock(s->zone, p.year, p.month + 1, 1, 0, 0, 0);
        *moved = true;
        if (s->p.month == 1) {
            return true;
        }
    }
    return false;
}

static bool step_day(const struct cron *c, struct cron_clock *s, bool *moved) {
    while (!day_fits(c, &s->p)) {
        if (!*moved) {
            *s = of_clock(s->zone, s->p.year, s->p.month, s->p.day, 0, 0, 0);
            *moved = true;
        }
        const struct time_parts p = s->p;
        *s = of_clock(s->zone, p.year, p.month, p.day + 1, p.hour, p.minute, p.second);
        if (s->p.hour != 0) { /* there is no such midnight, or it comes twice */
            int hours = s->p.hour > 12 ? 24 - s->p.hour : -s->p.hour;
            *s = shown_at(s->zone, s->at + hours * HOUR_S);
        }
        if (s->p.day == 1) {
            return true;
        }
    }
    return false;
}

static bool step_hour(const struct cron *c, struct cron_clock *s, bool *moved) {
    while (!has(c->hours, s->p.hour)) {
        if (!*moved) {
            *s = of_clock(s->zone, s->p.year, s->p.month, s->p.day, s->p.hour, 0, 0);
            *moved = true;
        }
        *s = shown_at(s->zone, s->at + HOUR_S);
        if (s->p.hour == 0) {
            return true;
        }
    }
    return false;
}

static bool step_minute(const struct cron *c, struct cron_clock *s, bool *moved) {
    while (!has(c->minutes, s->p.minute) || s->p.second != 0) {
        bool minute = has(c->minutes, s->p.minute);
        int64_t into = s->at % 60;
        *s = shown_at(s->zone, minute ? s->at + 60 - into : s->at + 60 - (*moved ? 0 : into));
        *moved = true;
        if (s->p.minute == 0) {
            return true;
        }
    }
    return false;
}

static bool next_time(const struct cron *c, const struct zone *z, int64_t now, int64_t *ret) {
    struct cron_clock s = shown_at(z, now + 1);
    int32_t last = s.p.year + 5;
    bool moved = false;
    while (s.p.year <= last) {
        if (!step_month(c, &s, &moved) && !step_day(c, &s, &moved) && !step_hour(c, &s, &moved) &&
            !step_minute(c, &s, &moved)) {
            *ret = s.at;
            return true;
        }
    }
    return false;
}

struct cron_window_at cron_window_at(const struct cron_window *w, const struct zone *z,
                                     int64_t now) {
    struct cron_window_at at = {0};
    at.has_start =
        next_time(&w->start, w->start_zone != NULL ? w->start_zone : z, now, &at.next_start);
    at.has_end = next_time(&w->end, w->end_zone != NULL ? w->end_zone : z, now, &at.next_end);
    /* upstream takes none for the zero time, before everything */
    int64_t start = at.has_start ? at.next_start : INT64_MIN;
    int64_t end = at.has_end ? at.next_end : INT64_MIN;
    at.inside = start < end ? start < now && now < end : start < now || now < end;
    return at;
}

static void schedule_name(struct buf *b, struct str text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '*') {
            buf_ch(b, 'x');
        } else if (c == '/') {
            buf_c(b, "Sl");
        } else if (c == '?') {
            buf_c(b, "Qm");
        } else if (c == ',') {
            buf_c(b, "Cm");
        } else if (c != ' ') {
            buf_ch(b, c);
        }
    }
}

struct str cron_window_metric(struct arena *a, int64_t trigger, struct str zone, struct str start,
                              struct str end) {
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b, "cron-%.*s-", STR_ARG(zone));
    schedule_name(&b, start);
    buf_ch(&b, '-');
    schedule_name(&b, end);
    struct str name = metric_name(a, trigger, buf_view(&b));
    buf_release(&b);
    return name;
}

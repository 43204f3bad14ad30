/* when: see when.h. */
#include "cli/book/when.h"

#include "base/clock.h"
#include "wire/text/time.h"

enum { DAY = 86400, HOUR = 3600, MINUTE = 60, JUST_NOW = 30 * 60, YEAR = 366 * DAY };

static const char *const days[] = {"sunday",   "monday", "tuesday", "wednesday",
                                   "thursday", "friday", "saturday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* ---- words ---- */

/* Whole, and all digits; n at most 9 of them. */
static bool number(struct str s, int64_t *ret) {
    int64_t v = 0;
    if (s.n == 0 || s.n > 9) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
        v = v * 10 + (s.p[i] - '0');
    }
    *ret = v;
    return true;
}

/* "9", "09:30", "9h30", "0930", "2pm", "noon", "24:00": seconds since midnight. */
static bool clock_of(struct str s, int64_t *ret) {
    int64_t h = 0, m = 0, half = -1;
    struct str hours, minutes;
    if (str_eq_nocase(s, STR("noon"))) {
        *ret = 12 * HOUR;
        return true;
    }
    if (s.n > 2 && (str_eq_nocase(str_skip(s, s.n - 2), STR("am")) ||
                    str_eq_nocase(str_skip(s, s.n - 2), STR("pm")))) {
        half = s.p[s.n - 2] == 'p' || s.p[s.n - 2] == 'P';
        s = str_head(s, s.n - 2);
    }
    bool parted = str_cut(s, ':', &hours, &minutes) || str_cut(s, 'h', &hours, &minutes);
    if (!parted && s.n == 4 && half < 0) {
        hours = str_head(s, 2);
        minutes = str_skip(s, 2);
        parted = true;
    }
    bool ok = number(hours, &h) && hours.n <= 2;
    if (parted && !(minutes.n == 0 && s.p[s.n - 1] == 'h')) {
        ok = ok && number(minutes, &m) && minutes.n == 2;
    }
    ok = ok && m < 60 && (half < 0 ? h * HOUR + m * MINUTE <= DAY : h >= 1 && h <= 12);
    if (ok) {
        h = half < 0 ? h : h % 12 + 12 * half;
        *ret = h * HOUR + m * MINUTE;
    }
    return ok;
}

/* "fri", "friday": 0 is Sunday; at least three letters. */
static bool weekday_of(struct str s, int64_t *ret) {
    for (int64_t i = 0; i < 7; i++) {
        struct str name = str_of(days[i]);
        if (s.n >= 3 && s.n <= name.n && str_eq_nocase(s, str_head(name, s.n))) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* A day, as it was written. */
struct day {
    enum { DAY_NONE, DAY_EXACT, DAY_WEEK, DAY_YEAR } kind;
    int64_t v; /* days since 1970; weekday; month * 100 + day of the month */
};

/* "2026-11-24", "11-24" */
static bool date_of(struct str s, struct day *ret) {
    struct str part[3];
    int64_t v[3];
    size_t n = 0;
    while (n < 3 && str_next(&s, '-', &part[n])) {
        if (!number(part[n], &v[n])) {
            return false;
        }
        n++;
    }
    if (s.n || n < 2 || (n == 3 && part[0].n != 4)) {
        return false;
    }
    int64_t year = n == 3 ? v[0] : 2000, month = v[n - 2],
            day = v[n - 1]; /* 2000 was a leap year */
    if (month < 1 || month > 12 || day < 1 || day > 31) {
        return false;
    }
    int64_t at = time_join((int32_t)year, (int)month, (int)day, 0, 0, 0) / DAY;
    if (time_split(at * DAY * NS_PER_SEC).day != day) {
        return false; /* 30 February */
    }
    *ret = n == 3 ? (struct day){DAY_EXACT, at} : (struct day){DAY_YEAR, month * 100 + day};
    return true;
}

static bool day_of(struct str s, int64_t today, struct day *ret) {
    int64_t v;
    if (str_eq_nocase(s, STR("today"))) {
        *ret = (struct day){DAY_EXACT, today};
    } else if (str_eq_nocase(s, STR("tomorrow"))) {
        *ret = (struct day){DAY_EXACT, today + 1};
    } else if (weekday_of(s, &v)) {
        *ret = (struct day){DAY_WEEK, v};
    } else if (s.n > 2 && s.p[0] == '+' && s.p[s.n - 1] == 'd' &&
               number(str_head(str_skip(s, 1), s.n - 2), &v) && v <= 366) {
        *ret = (struct day){DAY_EXACT, today + v};
    } else {
        return date_of(s, ret);
    }
    return true;
}

/* ---- moments ---- */

static int bad(const struct when_ask *ask, struct err *err, const char *text) {
    return err_set(err, ERR_BAD_REQUEST,
                   "--%s: expected a time as 14:00, \"tomorrow 9:00\", \"fri 14:00\", "
                   "\"2026-11-23 14:00\", now or +2h, not \"%s\"",
                   ask->option, text);
}

/* Day and time of a text, blanks or a T between them; false when a word is neither, or there are two of a kind. */
static bool words_of(const char *text, int64_t today, struct day *day, int64_t *clock) {
    struct str rest = str_trim(str_of(text)), word;
    bool has_clock = false, has_day = false;
    struct str date, time;
    if (str_cut(rest, 'T', &date, &time) && date_of(date, day)) {
        return clock_of(time, clock);
    }
    while (str_next(&rest, ' ', &word)) {
        if (word.n == 0) {
            continue;
        }
        if (!has_clock && clock_of(word, clock)) {
            has_clock = true;
        } else if (!has_day && day_of(word, today, day)) {
            has_day = true;
        } else {
            return false;
        }
    }
    return has_clock;
}

/* The day of the year in this year, or the first one in which it is there. */
static int64_t day_in_year(int64_t today, int64_t v, int64_t after) {
    int32_t year = time_split(today * DAY * NS_PER_SEC).year;
    for (int32_t i = 0; i < 9; i++) {
        int64_t at = time_join(year + i, (int)(v / 100), (int)(v % 100), 0, 0, 0) / DAY;
        bool there = time_split(at * DAY * NS_PER_SEC).day == v % 100;
        if (there && at >= after) {
            return at;
        }
    }
    return today;
}

static struct when at_local(const struct when_now *now, int64_t day, int64_t clock) {
    struct when w = {0};
    w.utc = zone_utc(now->zone, day * DAY + clock, &w.fit);
    return w;
}

static struct when resolve(const struct when_now *now, const struct when_ask *ask,
                           const struct day *day, int64_t clock) {
    int64_t after = ask->after ? ask->after->utc : now->utc;
    int64_t today = floor_div(zone_local(now->zone, now->utc), DAY);
    int64_t from = floor_div(zone_local(now->zone, after), DAY), at = from;
    struct when w;
    switch (day->kind) {
    case DAY_EXACT:
        return at_local(now, day->v, clock);
    case DAY_WEEK:
        at = from + (day->v - (from + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
        w = at_local(now, at, clock);
        return w.utc > after ? w : at_local(now, at + 7, clock);
    case DAY_YEAR:
        at = day_in_year(today, day->v, from);
        w = at_local(now, at, clock);
        return w.utc > after ? w : at_local(now, day_in_year(today, day->v, at + 1), clock);
    default:
        w = at_local(now, at, clock);
        return w.utc > after || (ask->after == NULL && after - w.utc <= JUST_NOW)
                   ? w
                   : at_local(now, at + 1, clock);
    }
}

static int check_past(const struct when_now *now, const struct when_ask *ask, struct when *w,
                      struct err *err) {
    char at[ZONE_TEXT_MAX];
    if (ask->past || w->utc >= now->utc) {
        return 0;
    }
    if (ask->after == NULL && now->utc - w->utc <= JUST_NOW) {
        *w = (struct when){.utc = now->utc, .now = true};
        return 0;
    }
    return err_set(err, ERR_BAD_REQUEST, "--%s: %.*s is over", ask->option,
                   STR_ARG(zone_text(now->zone, w->utc, at)));
}

/* A day that the moment is on when it names none itself. */
static int default_day(const struct when_ask *ask, int64_t today, struct day *ret,
                       struct err *err) {
    if (ret->kind != DAY_NONE || ask->day == NULL) {
        return 0;
    }
    if (!day_of(str_trim(str_of(ask->day)), today, ret)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--date: expected today, tomorrow, a weekday, a date as 2026-11-24 or +3d, "
                       "not \"%s\"",
                       ask->day);
    }
    return 0;
}

int when_parse(const struct when_now *now, const struct when_ask *ask, const char *text,
               struct when *ret, struct err *err) {
    int64_t today = floor_div(zone_local(now->zone, now->utc), DAY), clock = 0, ns, length;
    struct str s = str_trim(str_of(text));
    struct day day = {0};
    struct when w = {0};
    if (str_eq_nocase(s, STR("now"))) {
        *ret = (struct when){.utc = now->utc, .now = true};
        return 0;
    }
    if (s.n > 1 && s.p[0] == '+' && when_length(ask->option, s.p + 1, &length, NULL) == 0) {
        w.utc = (ask->after ? ask->after->utc : now->utc) + length;
    } else if (s.n > 19 && time_parse(s, &ns, NULL) == 0) {
        w.utc = floor_div(ns, NS_PER_SEC);
    } else {
        if (!words_of(text, today, &day, &clock)) {
            return bad(ask, err, text);
        }
        int r = default_day(ask, today, &day, err);
        if (r != 0) {
            return r;
        }
        w = resolve(now, ask, &day, clock);
    }
    int r = check_past(now, ask, &w, err);
    if (r == 0) {
        *ret = w;
    }
    return r;
}

int when_day(const struct when_now *now, const char *option, const char *text, int64_t *ret_utc,
             struct err *err) {
    int64_t today = floor_div(zone_local(now->zone, now->utc), DAY);
    struct day day = {DAY_EXACT, today};
    if (text && !day_of(str_trim(str_of(text)), today, &day)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--%s: expected today, tomorrow, a weekday, a date as 2026-11-24 or +3d, "
                       "not \"%s\"",
                       option, text);
    }
    struct when eve = {.utc = zone_utc(now->zone, today * DAY, NULL) - 1};
    struct when_ask ask = {.option = option, .after = &eve, .past = true};
    *ret_utc = resolve(now, &ask, &day, 0).utc;
    return 0;
}

/* ---- lengths ---- */

int when_length(const char *option, const char *text, int64_t *ret, struct err *err) {
    int64_t total = 0, n = 0, unit = 0, last = 8 * (int64_t)DAY;
    bool ok = *text != '\0', digits = false;
    for (const char *p = text; ok && *p; p++) {
        if (*p >= '0' && *p <= '9') {
            n = n * 10 + (*p - '0');
            digits = true;
            ok = n <= YEAR;
            continue;
        }
        unit = *p == 'w' ? 7 * DAY : *p == 'd' ? DAY : *p == 'h' ? HOUR : *p == 'm' ? MINUTE : 0;
        ok = digits && unit > 0 && unit < last;
        total += n * unit;
        last = unit;
        n = 0;
        digits = false;
    }
    if (!ok || digits || total <= 0 || total > YEAR) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--%s: expected a length as 30m, 4h, 1h30m or 2d, not \"%s\"", option, text);
    }
    *ret = total;
    return 0;
}

struct str when_length_text(int64_t s, struct arena *a) {
    struct str text = s >= DAY ? arena_f(a, "%lldd", (long long)(s / DAY)) : STR("");
    int64_t h = s % DAY / HOUR, m = s % HOUR / MINUTE;
    if (h) {
        text = arena_f(a, "%.*s%lldh", STR_ARG(text), (long long)h);
    }
    if (m || text.n == 0) {
        text = arena_f(a, "%.*s%lldm", STR_ARG(text), (long long)m);
    }
    return text;
}

struct str when_distance(const struct when_now *now, int64_t utc, struct arena *a) {
    int64_t s = utc - now->utc, d = s < 0 ? -s : s;
    /* The greatest unit, and the next one where the first is small. */
    d = d >= 2 * DAY ? d / DAY * DAY : d >= 10 * HOUR ? d / HOUR * HOUR : d;
    struct str text = when_length_text(d, a);
    return d < MINUTE ? STR("now")
           : s < 0    ? arena_f(a, "%.*s ago", STR_ARG(text))
                      : arena_f(a, "in %.*s", STR_ARG(text));
}

/* ---- texts ---- */

/* "CET"; "UTC+05:45" where the zone has no letters for it. */
static struct str zone_word(const struct when_now *now, int64_t utc, struct arena *a) {
    struct zone_at at = zone_at(now->zone, utc);
    char offset[ZONE_OFFSET_TEXT_MAX];
    bool letters = at.abbr.n > 0 && at.abbr.p[0] != '+' && at.abbr.p[0] != '-';
    return letters ? arena_str(a, at.abbr)
                   : arena_f(a, "UTC%.*s", STR_ARG(zone_offset_text(at.offset, offset)));
}

static struct str date_text(const struct when_now *now, int64_t local, struct arena *a) {
    struct time_parts t = time_split(local * NS_PER_SEC);
    struct time_parts present = time_split(zone_local(now->zone, now->utc) * NS_PER_SEC);
    struct str day = str_of(days[t.weekday]);
    struct str text =
        arena_f(a, "%c%.*s %d %s", day.p[0] - 'a' + 'A', 2, day.p + 1, t.day, months[t.month - 1]);
    return t.year == present.year ? text : arena_f(a, "%.*s %d", STR_ARG(text), (int)t.year);
}

static struct str clock_text(int64_t local, struct arena *a) {
    struct time_parts t = time_split(local * NS_PER_SEC);
    return t.second ? arena_f(a, "%02d:%02d:%02d", t.hour, t.minute, t.second)
                    : arena_f(a, "%02d:%02d", t.hour, t.minute);
}

struct str when_text(const struct when_now *now, int64_t utc, struct arena *a) {
    int64_t local = zone_local(now->zone, utc);
    return arena_f(a, "%.*s %.*s %.*s", STR_ARG(date_text(now, local, a)),
                   STR_ARG(clock_text(local, a)), STR_ARG(zone_word(now, utc, a)));
}

struct str when_span(const struct when_now *now, int64_t from, int64_t to, struct arena *a) {
    int64_t l1 = zone_local(now->zone, from), l2 = zone_local(now->zone, to);
    struct str d1 = date_text(now, l1, a), c1 = clock_text(l1, a), c2 = clock_text(l2, a);
    struct str z1 = zone_word(now, from, a), z2 = zone_word(now, to, a);
    struct str length = when_length_text(to - from, a);
    bool one_zone = str_eq(z1, z2), one_day = floor_div(l1, DAY) == floor_div(l2, DAY);
    if (!one_day && l2 % DAY == 0 && floor_div(l2, DAY) == floor_div(l1, DAY) + 1) {
        one_day = true; /* until the end of the day */
        c2 = STR("24:00");
    }
    if (one_day && one_zone) {
        return arena_f(a, "%.*s %.*s-%.*s %.*s (%.*s)", STR_ARG(d1), STR_ARG(c1), STR_ARG(c2),
                       STR_ARG(z1), STR_ARG(length));
    }
    struct str d2 = one_day ? STR("") : arena_f(a, "%.*s ", STR_ARG(date_text(now, l2, a)));
    struct str between = one_zone ? STR("") : arena_f(a, " %.*s", STR_ARG(z1));
    return arena_f(a, "%.*s %.*s%.*s - %.*s%.*s %.*s (%.*s)", STR_ARG(d1), STR_ARG(c1),
                   STR_ARG(between), STR_ARG(d2), STR_ARG(c2), STR_ARG(z2), STR_ARG(length));
}

struct str when_note(const struct when_now *now, const struct when *w, struct arena *a) {
    if (w->fit == ZONE_ONCE) {
        return (struct str){0};
    }
    struct str at = when_text(now, w->utc, a);
    return w->fit == ZONE_GAP
               ? arena_f(a, "clocks skip that time on that day; %.*s is meant", STR_ARG(at))
               : arena_f(a, "clocks show that time twice on that day; the first is meant, %.*s",
                         STR_ARG(at));
}

struct str when_rfc(int64_t utc, struct arena *a) {
    char text[TIME_TEXT_MAX];
    return arena_str(a, time_text(utc * NS_PER_SEC, text));
}

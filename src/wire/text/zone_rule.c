/* zone_rule: the last line of a TZif file, a rule like CET-1CEST,M3.5.0,M10.5.0/3 for all years after its table. */
#include "wire/text/time.h"
#include "wire/text/zone_private.h"

/* ---- reading ---- */

static bool take(struct str *s, char c) {
    if (s->n == 0 || s->p[0] != c) {
        return false;
    }
    *s = str_skip(*s, 1);
    return true;
}

/* One to three digits of at most `max`. */
static bool number(struct str *s, int max, int *ret) {
    int v = 0;
    size_t n = 0;
    for (; n < s->n && n < 3 && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
        v = v * 10 + (s->p[n] - '0');
    }
    if (n == 0 || v > max) {
        return false;
    }
    *s = str_skip(*s, n);
    *ret = v;
    return true;
}

/* "CET", or "<+0330>" in brackets when it has digits or signs. */
static bool abbreviation(struct str *s, char out[static ZONE_ABBR_MAX + 1]) {
    bool quoted = take(s, '<');
    size_t n = 0;
    for (; n < s->n; n++) {
        char c = s->p[n];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        bool other = (c >= '0' && c <= '9') || c == '+' || c == '-';
        if (!letter && !(quoted && other)) {
            break;
        }
    }
    struct str name = str_head(*s, n);
    *s = str_skip(*s, n);
    return n >= 3 && (!quoted || take(s, '>')) && str_copy(name, out, ZONE_ABBR_MAX + 1);
}

/* "3", "+03:30", "-1:15:30": hours of at most `max`, as seconds. */
static bool clock_time(struct str *s, int max, int32_t *ret) {
    int sign = take(s, '-') ? -1 : 1, h, m = 0, sec = 0;
    if (sign > 0) {
        take(s, '+');
    }
    if (!number(s, max, &h)) {
        return false;
    }
    if (take(s, ':') && (!number(s, 59, &m) || (take(s, ':') && !number(s, 59, &sec)))) {
        return false;
    }
    *ret = sign * (h * 3600 + m * 60 + sec);
    return true;
}

static bool date(struct str *s, struct zone_date *d) {
    bool ok;
    *d = (struct zone_date){.time = 2 * 3600};
    if (take(s, 'M')) {
        d->form = ZONE_DATE_MONTH;
        ok = number(s, 12, &d->month) && d->month > 0 && take(s, '.') && number(s, 5, &d->week) &&
             d->week > 0 && take(s, '.') && number(s, 6, &d->weekday);
    } else if (take(s, 'J')) {
        d->form = ZONE_DATE_JULIAN;
        ok = number(s, 365, &d->day) && d->day > 0;
    } else {
        d->form = ZONE_DATE_DAY;
        ok = number(s, 365, &d->day);
    }
    return ok && (!take(s, '/') || clock_time(s, 167, &d->time));
}

/* A name and an offset, which POSIX counts westward. */
static bool half(struct str *s, struct zone_type *t) {
    int32_t west;
    if (!abbreviation(s, t->abbr) || !clock_time(s, 24, &west)) {
        return false;
    }
    t->offset = -west;
    return true;
}

int zone_rule_parse(struct str text, struct zone_rule *ret, struct err *err) {
    struct zone_rule r = {0};
    struct str s = text;
    bool ok = half(&s, &r.standard);
    if (ok && s.n > 0) {
        r.changes = true;
        r.summer.dst = true;
        r.summer.offset = r.standard.offset + 3600;
        ok = abbreviation(&s, r.summer.abbr);
        int32_t west = 0;
        if (ok && s.n > 0 && s.p[0] != ',') {
            ok = clock_time(&s, 24, &west);
            r.summer.offset = -west;
        }
        ok = ok && take(&s, ',') && date(&s, &r.to_summer) && take(&s, ',') &&
             date(&s, &r.to_standard);
    }
    if (!ok || s.n > 0) {
        return err_set(err, ERR_SYNTAX, "cannot read the rule \"%.*s\" of a time zone",
                       STR_ARG(str_head(text, 64)));
    }
    *ret = r;
    return 0;
}

/* ---- following ---- */

static bool leap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The local time of the change in a year. */
static int64_t date_in(const struct zone_date *d, int year) {
    int64_t day = time_join(year, 1, 1, 0, 0, 0) / ZONE_DAY;
    if (d->form == ZONE_DATE_DAY) {
        day += d->day;
    } else if (d->form == ZONE_DATE_JULIAN) {
        day += d->day - 1 + (leap(year) && d->day > 59);
    } else {
        int64_t first = time_join(year, d->month, 1, 0, 0, 0) / ZONE_DAY;
        int64_t next = time_join(year, d->month + 1, 1, 0, 0, 0) / ZONE_DAY;
        int64_t weekday = ((first + 4) % 7 + 7) % 7;
        day = first + (d->weekday - weekday + 7) % 7 + (int64_t)(d->week - 1) * 7;
        day -= day >= next ? 7 : 0; /* the fifth of a month that has four */
    }
    return day * ZONE_DAY + d->time;
}

/* Rules are followed for so long on both sides of 1970, then it is standard time; instants in nanoseconds end in
 * 2262. */
static const int64_t far = INT64_C(9000000000);

static struct zone_at stretch(const struct zone_type *t, int64_t from, int64_t until) {
    return (struct zone_at){t->offset, t->dst, str_of(t->abbr), from, until};
}

/* Six changes, of the year before to the year after, in order; of two at one instant the one to summer counts, which
 * is how summer all year is written. */
struct zone_at zone_rule_at(const struct zone_rule *r, int64_t utc) {
    if (!r->changes || utc >= far || utc < -far) {
        return stretch(&r->standard, r->changes && utc >= far ? far : INT64_MIN,
                       r->changes && utc < -far ? -far : INT64_MAX);
    }
    int year = time_split(utc * INT64_C(1000000000)).year;
    struct {
        int64_t at;
        const struct zone_type *to;
    } changes[8];
    size_t n = 0;
    for (int y = year - 2; y <= year + 1; y++) {
        int64_t summer = date_in(&r->to_summer, y) - r->standard.offset;
        int64_t standard = date_in(&r->to_standard, y) - r->summer.offset;
        bool first = standard <= summer;
        changes[n].at = first ? standard : summer;
        changes[n++].to = first ? &r->standard : &r->summer;
        changes[n].at = first ? summer : standard;
        changes[n++].to = first ? &r->summer : &r->standard;
    }
    size_t i = n - 1;
    while (i > 0 && changes[i].at > utc) {
        i--;
    }
    int64_t from = changes[i].at, until = i + 1 < n ? changes[i + 1].at : far;
    return stretch(changes[i].to, from > -far ? from : -far, until < far ? until : far);
}

/* time: RFC 3339 instants and Go durations. See time.h. */
#include "wire/text/time.h"

#include <stdio.h>

#define SEC INT64_C(1000000000)

/* ---- the calendar ---- */

/* Days since 1970-01-01 of a proleptic Gregorian date, after Hinnant's days_from_civil: years start in March. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    int64_t m0 = month - 1;
    year += m0 >= 0 ? m0 / 12 : -((11 - m0) / 12);
    int64_t m = ((m0 % 12) + 12) % 12 + 1;
    year -= m <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t yoe = year - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + doe - 719468 + day - 1;
}

int64_t time_join(int32_t year, int month, int day, int hour, int minute, int second) {
    return days_of(year, month, day) * 86400 + (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

struct time_parts time_split(int64_t ns) {
    int64_t secs = floor_div(ns, SEC), days = floor_div(secs, 86400);
    int64_t rest = secs - days * 86400;
    int64_t z = days + 719468; /* days since 0000-03-01 */
    int64_t era = floor_div(z, 146097), doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    int64_t month = mp < 10 ? mp + 3 : mp - 9;
    return (struct time_parts){
        .year = (int32_t)(yoe + era * 400 + (month <= 2)),
        .month = (int)month,
        .day = (int)(doy - (153 * mp + 2) / 5 + 1),
        .hour = (int)(rest / 3600),
        .minute = (int)(rest / 60 % 60),
        .second = (int)(rest % 60),
        .nano = (int32_t)(ns - secs * SEC),
        .weekday = (int)(((days + 4) % 7 + 7) % 7),
    };
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* ---- reading ---- */

/* Takes n digits off *s; false when there are fewer. */
static bool digits(struct str *s, size_t n, int *ret) {
    int v = 0;
    if (s->n < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') {
            return false;
        }
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_skip(*s, n);
    *ret = v;
    return true;
}

static bool take(struct str *s, char c) {
    if (s->n == 0 || s->p[0] != c) {
        return false;
    }
    *s = str_skip(*s, 1);
    return true;
}

/* ".123": at least one digit; what is finer than a nanosecond is cut. *ret_n: digits seen. */
static bool fraction(struct str *s, int64_t *ret_ns, size_t *ret_n) {
    int64_t ns = 0, unit = SEC / 10;
    size_t n = 0;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++) {
        ns += (s->p[n] - '0') * unit;
        unit /= 10;
    }
    *s = str_skip(*s, n);
    *ret_ns = ns;
    *ret_n = n;
    return n > 0;
}

/* "Z" or "+02:00", which must be all that is left. */
static bool offset(struct str *s, int64_t *ret_secs) {
    if (take(s, 'Z')) {
        *ret_secs = 0;
        return s->n == 0;
    }
    int sign = take(s, '+') ? 1 : take(s, '-') ? -1 : 0;
    int hours, minutes;
    if (sign == 0 || !digits(s, 2, &hours) || !take(s, ':') || !digits(s, 2, &minutes) ||
        hours > 23 || minutes > 59) {
        return false;
    }
    *ret_secs = sign * (hours * 3600 + minutes * 60);
    return s->n == 0;
}

/* want: digits of fraction, or -1 when any number, or none, will do. */
static int parse(struct str text, int want, int64_t *ret_ns, struct err *err) {
    struct str s = text;
    int year, month, day, hour, minute, second;
    int64_t nano = 0, off;
    size_t n = 0;
    bool ok = digits(&s, 4, &year) && take(&s, '-') && digits(&s, 2, &month) && take(&s, '-') &&
              digits(&s, 2, &day) && take(&s, 'T') && digits(&s, 2, &hour) && take(&s, ':') &&
              digits(&s, 2, &minute) && take(&s, ':') && digits(&s, 2, &second);
    if (ok && take(&s, '.')) {
        ok = fraction(&s, &nano, &n);
    }
    ok = ok && offset(&s, &off) && month >= 1 && month <= 12 && day >= 1 &&
         day <= days_in(year, month) && hour <= 23 && minute <= 59 && second <= 59;
    if (!ok || (want >= 0 && n != (size_t)want)) {
        return err_set(err, ERR_SYNTAX, "cannot parse \"%.*s\" as a time like %s",
                       STR_ARG(str_head(text, 64)),
                       want >= 0 ? "2006-01-02T15:04:05.000000Z" : "2006-01-02T15:04:05Z");
    }
    int64_t secs = time_join(year, month, day, hour, minute, second) - off, ns;
    if (__builtin_mul_overflow(secs, SEC, &ns) || __builtin_add_overflow(ns, nano, &ns)) {
        return err_set(err, ERR_RANGE, "time \"%.*s\" is out of range", STR_ARG(text));
    }
    *ret_ns = ns;
    return 0;
}

int time_parse(struct str text, int64_t *ret_ns, struct err *err) {
    return parse(text, -1, ret_ns, err);
}

int time_parse_micro(struct str text, int64_t *ret_ns, struct err *err) {
    return parse(text, 6, ret_ns, err);
}

/* ---- writing ---- */

/* n digits of v; the end. By hand: every write sets a time or two. */
static char *put_digits(char *p, int v, int n) {
    for (int i = n; i > 0; i--) {
        p[i - 1] = (char)('0' + v % 10);
        v /= 10;
    }
    return p + n;
}

static struct str seconds_text(const struct time_parts *t, char *out) {
    const int v[] = {t->month, t->day, t->hour, t->minute, t->second};
    char *p = out;
    if (t->year < 0 || t->year > 9999) {
        p += snprintf(out, 16, "%04d", t->year);
    } else {
        p = put_digits(p, t->year, 4);
    }
    for (int i = 0; i < 5; i++) {
        *p = "--T::"[i];
        p = put_digits(p + 1, v[i], 2);
    }
    return str_from(out, (size_t)(p - out));
}

static struct str with_fraction(int64_t ns, int places, bool trim, char *out) {
    struct time_parts t = time_split(ns);
    struct str s = seconds_text(&t, out);
    char frac[16] = ".";
    put_digits(frac + 1, t.nano, 9);
    size_t n = places ? (size_t)places + 1 : 0;
    while (trim && n > 0 && (frac[n - 1] == '0' || frac[n - 1] == '.')) {
        n--;
    }
    memcpy(out + s.n, frac, n);
    out[s.n + n] = 'Z';
    out[s.n + n + 1] = 0;
    return str_from(out, s.n + n + 1);
}

struct str time_text(int64_t ns, char out[static TIME_TEXT_MAX]) {
    return with_fraction(ns, 0, false, out);
}

struct str time_text_micro(int64_t ns, char out[static TIME_TEXT_MAX]) {
    return with_fraction(ns, 6, false, out);
}

struct str time_text_nano(int64_t ns, char out[static TIME_TEXT_MAX]) {
    return with_fraction(ns, 9, true, out);
}

/* ---- durations ---- */

static const struct unit {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},       {"us", 1000}, {"\xc2\xb5s", 1000}, {"\xce\xbcs", 1000},
    {"ms", 1000000}, {"s", SEC},   {"m", 60 * SEC},     {"h", 3600 * SEC},
};

/* The unit is everything up to the next digit or point. */
static const struct unit *take_unit(struct str *s) {
    size_t n = 0;
    while (n < s->n && s->p[n] != '.' && (s->p[n] < '0' || s->p[n] > '9')) {
        n++;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (str_is(str_head(*s, n), units[i].name)) {
            *s = str_skip(*s, n);
            return &units[i];
        }
    }
    return NULL;
}

/* One "3.5s" off *s, in ns, with what is finer than a nanosecond cut. Negative totals reach one further than positive
 * ones, so the sum is kept unsigned up to 2^63. */
static bool take_term(struct str *s, uint64_t *ret) {
    const uint64_t max = UINT64_C(1) << 63;
    uint64_t v = 0, frac = 0, scale = 1, ns;
    size_t before = 0, after = 0;
    for (; before < s->n && s->p[before] >= '0' && s->p[before] <= '9'; before++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s->p[before] - '0'), &v) || v > max) {
            return false;
        }
    }
    *s = str_skip(*s, before);
    if (take(s, '.')) {
        for (; after < s->n && s->p[after] >= '0' && s->p[after] <= '9'; after++) {
            if (after < 15) { /* finer than any unit shows: 1e-15 h is 4 ps */
                frac = frac * 10 + (uint64_t)(s->p[after] - '0');
                scale *= 10;
            }
        }
        *s = str_skip(*s, after);
    }
    const struct unit *u = before + after > 0 ? take_unit(s) : NULL;
    if (u == NULL || __builtin_mul_overflow(v, (uint64_t)u->ns, &ns) || ns > max) {
        return false;
    }
    ns += (uint64_t)((unsigned __int128)frac * (uint64_t)u->ns / scale);
    *ret = ns;
    return ns <= max;
}

static int duration_error(struct str text, struct err *err) {
    return err_set(err, ERR_SYNTAX, "time: invalid duration \"%.*s\"", STR_ARG(str_head(text, 64)));
}

int duration_parse(struct str text, int64_t *ret_ns, struct err *err) {
    const uint64_t max = UINT64_C(1) << 63;
    struct str s = text;
    bool negative = take(&s, '-');
    if (!negative) {
        take(&s, '+');
    }
    if (str_is(s, "0")) {
        *ret_ns = 0;
        return 0;
    }
    uint64_t sum = 0, term;
    if (s.n == 0) {
        return duration_error(text, err);
    }
    while (s.n > 0) {
        if (!take_term(&s, &term)) {
            return duration_error(text, err);
        }
        sum += term; /* both are at most 2^63 */
        if (sum > max || (sum == 0 && term > 0)) {
            return duration_error(text, err);
        }
    }
    if (sum == max && !negative) {
        return duration_error(text, err);
    }
    *ret_ns = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return 0;
}

/* "1.5": v in units of `unit`, trailing zeros dropped. */
static int decimal(char *out, size_t cap, uint64_t v, uint64_t unit, int places) {
    int n = snprintf(out, cap, "%llu", (unsigned long long)(v / unit));
    if (places == 0 || v % unit == 0) {
        return n;
    }
    n += snprintf(out + n, cap - (size_t)n, ".%0*llu", places, (unsigned long long)(v % unit));
    while (out[n - 1] == '0') {
        out[--n] = 0;
    }
    return n;
}

struct str duration_text(int64_t ns, char out[static DURATION_TEXT_MAX]) {
    const size_t cap = DURATION_TEXT_MAX;
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    int n = ns < 0 ? snprintf(out, cap, "-") : 0;
    if (v == 0) {
        n = snprintf(out, cap, "0s");
    } else if (v < 1000) {
        n += snprintf(out + n, cap - (size_t)n, "%uns", (unsigned)v);
    } else if (v < 1000000) {
        n += decimal(out + n, cap - (size_t)n, v, 1000, 3);
        n += snprintf(out + n, cap - (size_t)n, "\xc2\xb5s");
    } else if (v < (uint64_t)SEC) {
        n += decimal(out + n, cap - (size_t)n, v, 1000000, 6);
        n += snprintf(out + n, cap - (size_t)n, "ms");
    } else {
        uint64_t minutes = v / (60 * (uint64_t)SEC);
        if (minutes >= 60) {
            n += snprintf(out + n, cap - (size_t)n, "%lluh", (unsigned long long)(minutes / 60));
        }
        if (minutes > 0) {
            n += snprintf(out + n, cap - (size_t)n, "%llum", (unsigned long long)(minutes % 60));
        }
        n += decimal(out + n, cap - (size_t)n, v % (60 * (uint64_t)SEC), (uint64_t)SEC, 9);
        n += snprintf(out + n, cap - (size_t)n, "s");
    }
    return str_from(out, (size_t)n);
}

/* rrule: recurrence rules. See rrule.h. */
#include "wire/text/rrule.h"

#include "base/limits.h"
#include "wire/text/time.h"

enum { DAY = 86400 };
static const int64_t last_day = INT64_C(84005); /* 2199-12-31 */
static const char *const day_names[] = {"SU", "MO", "TU", "WE", "TH", "FR", "SA"};
static const char *const freq_names[] = {
    [RRULE_DAILY] = "DAILY", [RRULE_WEEKLY] = "WEEKLY", [RRULE_MONTHLY] = "MONTHLY"};

/* ---- reading ---- */

static int bad(struct err *err, const char *part, struct str value, const char *expected) {
    return err_set(err, ERR_INVALID, "%s=%.*s: %s", part, STR_ARG(str_head(value, 64)), expected);
}

static int read_number(const char *part, struct str v, int64_t most, int32_t *ret,
                       struct err *err) {
    int64_t n;
    if (!str_to_i64(v, &n) || v.p[0] == '+' || n < 1 || n > most) {
        char expected[64];
        snprintf(expected, sizeof(expected), "must be a number from 1 to %lld", (long long)most);
        return bad(err, part, v, expected);
    }
    *ret = (int32_t)n;
    return 0;
}

static bool weekday(struct str name, uint8_t *ret) {
    for (uint8_t i = 0; i < 7; i++) {
        if (str_is(name, day_names[i])) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* "MO", "+1MO", "-1FR" */
static int read_days(struct rrule *r, struct str v, struct err *err) {
    struct str rest = v, item;
    while (str_next(&rest, ',', &item)) {
        struct rrule_day d = {0};
        struct str number = str_head(item, item.n >= 2 ? item.n - 2 : 0);
        int64_t n = 0;
        number = str_starts(number, STR("+")) ? str_skip(number, 1) : number;
        bool ok = item.n >= 2 && weekday(str_skip(item, item.n - 2), &d.weekday) &&
                  (item.n == 2 || (str_to_i64(number, &n) && n >= -5 && n <= 5 && n != 0));
        if (!ok) {
            return bad(err, "BYDAY", v, "must be days like MO,WE, or 1MO,-1FR with FREQ=MONTHLY");
        }
        if (r->n_days == RRULE_DAYS_MAX) {
            return bad(err, "BYDAY", v, "has too many days");
        }
        d.ordinal = (int8_t)n;
        r->days[r->n_days++] = d;
    }
    return r->n_days > 0 ? 0 : bad(err, "BYDAY", v, "must name a day");
}

static int read_month_days(struct rrule *r, struct str v, struct err *err) {
    struct str rest = v, item;
    while (str_next(&rest, ',', &item)) {
        int64_t n;
        item = str_starts(item, STR("+")) ? str_skip(item, 1) : item;
        if (!str_to_i64(item, &n) || n < -31 || n > 31 || n == 0) {
            return bad(err, "BYMONTHDAY", v, "must be days from 1 to 31, or -1 for the last");
        }
        if (r->n_month_days == RRULE_MONTH_DAYS_MAX) {
            return bad(err, "BYMONTHDAY", v, "has too many days");
        }
        r->month_days[r->n_month_days++] = (int8_t)n;
    }
    return r->n_month_days > 0 ? 0 : bad(err, "BYMONTHDAY", v, "must name a day");
}

static int read_until(struct rrule *r, struct str v, struct err *err) {
    struct rrule_date d;
    if (rrule_date_parse(v, &d, NULL) != 0) {
        return bad(err, "UNTIL", v, "must be like 20261224T225959Z or 20261224");
    }
    r->has_until = d.form == RRULE_DATE_UTC ? RRULE_UNTIL_UTC : RRULE_UNTIL_LOCAL;
    r->until = d.at + (d.form == RRULE_DATE_DAY ? DAY - 1 : 0);
    return 0;
}

static int read_freq(struct rrule *r, struct str v, struct err *err) {
    for (int f = RRULE_DAILY; f <= RRULE_MONTHLY; f++) {
        if (str_is(v, freq_names[f])) {
            r->freq = f;
            return 0;
        }
    }
    return bad(err, "FREQ", v, "must be DAILY, WEEKLY or MONTHLY");
}

static int read_interval(struct rrule *r, struct str v, struct err *err) {
    return read_number("INTERVAL", v, LIMIT_RRULE_INTERVAL, &r->interval, err);
}

static int read_count(struct rrule *r, struct str v, struct err *err) {
    return read_number("COUNT", v, LIMIT_RRULE_COUNT, &r->count, err);
}

static int read_week_start(struct rrule *r, struct str v, struct err *err) {
    return weekday(v, &r->week_start) ? 0 : bad(err, "WKST", v, "must be a day like MO");
}

static const struct part {
    const char *name;
    int (*read)(struct rrule *r, struct str v, struct err *err);
} parts[] = {
    {"FREQ", read_freq},       {"INTERVAL", read_interval},
    {"BYDAY", read_days},      {"BYMONTHDAY", read_month_days},
    {"COUNT", read_count},     {"UNTIL", read_until},
    {"WKST", read_week_start},
};

static int read_part(struct rrule *r, struct str part, unsigned *seen, struct err *err) {
    struct str name, value;
    if (!str_cut(part, '=', &name, &value)) {
        return err_set(err, ERR_INVALID, "\"%.*s\" is no part like FREQ=WEEKLY",
                       STR_ARG(str_head(part, 64)));
    }
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (str_is(name, parts[i].name)) {
            if (*seen & 1u << i) {
                return err_set(err, ERR_INVALID, "%s is given twice", parts[i].name);
            }
            *seen |= 1u << i;
            return parts[i].read(r, value, err);
        }
    }
    return err_set(err, ERR_INVALID,
                   "%.*s is not supported; use FREQ, INTERVAL, BYDAY, BYMONTHDAY, COUNT, UNTIL",
                   STR_ARG(str_head(name, 64)));
}

/* What no part can see alone. */
static int check(const struct rrule *r, struct err *err) {
    if (r->freq == 0) {
        return err_set(err, ERR_INVALID, "FREQ is missing: DAILY, WEEKLY or MONTHLY");
    }
    if (r->count > 0 && r->has_until) {
        return err_set(err, ERR_INVALID, "COUNT and UNTIL exclude one another");
    }
    if (r->freq == RRULE_WEEKLY && r->n_month_days > 0) {
        return err_set(err, ERR_INVALID, "BYMONTHDAY does not go with FREQ=WEEKLY");
    }
    for (size_t i = 0; i < r->n_days; i++) {
        if (r->days[i].ordinal != 0 && r->freq != RRULE_MONTHLY) {
            return err_set(err, ERR_INVALID, "BYDAY=%d%s: only FREQ=MONTHLY counts weekdays",
                           r->days[i].ordinal, day_names[r->days[i].weekday]);
        }
    }
    return 0;
}

int rrule_parse(struct str text, struct rrule *ret, struct err *err) {
    char upper[LIMIT_RRULE_BYTES];
    struct rrule r = {.interval = 1, .week_start = 1};
    unsigned seen = 0;
    struct str s = str_trim(text), rest, part;
    if (s.n >= sizeof(upper)) {
        return err_set(err, ERR_INVALID, "the rule is longer than %d bytes", LIMIT_RRULE_BYTES);
    }
    for (size_t i = 0; i < s.n; i++) {
        upper[i] = (char)(s.p[i] >= 'a' && s.p[i] <= 'z' ? s.p[i] - 32 : s.p[i]);
    }
    rest = str_from(upper, s.n);
    rest = str_starts(rest, STR("RRULE:")) ? str_skip(rest, 6) : rest;
    while (str_next(&rest, ';', &part)) {
        int code = read_part(&r, part, &seen, err);
        if (code != 0) {
            return code;
        }
    }
    int code = check(&r, err);
    if (code == 0) {
        *ret = r;
    }
    return code;
}

/* ---- writing ---- */

void rrule_write(const struct rrule *r, struct buf *out) {
    buf_f(out, "FREQ=%s", freq_names[r->freq]);
    if (r->interval != 1) {
        buf_f(out, ";INTERVAL=%d", r->interval);
    }
    for (size_t i = 0; i < r->n_days; i++) {
        buf_c(out, i == 0 ? ";BYDAY=" : ",");
        if (r->days[i].ordinal != 0) {
            buf_f(out, "%d", r->days[i].ordinal);
        }
        buf_c(out, day_names[r->days[i].weekday]);
    }
    for (size_t i = 0; i < r->n_month_days; i++) {
        buf_f(out, "%s%d", i == 0 ? ";BYMONTHDAY=" : ",", r->month_days[i]);
    }
    if (r->count > 0) {
        buf_f(out, ";COUNT=%d", r->count);
    }
    if (r->has_until) {
        struct time_parts t = time_split(r->until * INT64_C(1000000000));
        buf_f(out, ";UNTIL=%04d%02d%02dT%02d%02d%02d%s", t.year, t.month, t.day, t.hour, t.minute,
              t.second, r->has_until == RRULE_UNTIL_UTC ? "Z" : "");
    }
    if (r->week_start != 1) {
        buf_f(out, ";WKST=%s", day_names[r->week_start]);
    }
}

/* ---- occurrences ---- */

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int weekday_of(int64_t day) {
    return (int)(((day + 4) % 7 + 7) % 7);
}

static struct time_parts date_of(int64_t day) {
    return time_split(day * DAY * INT64_C(1000000000));
}

static int64_t day_of(int year, int month, int day) {
    return floor_div(time_join(year, month, day, 0, 0, 0), DAY);
}

static int month_length(const struct time_parts *t) {
    return (int)(day_of(t->year, t->month + 1, 1) - day_of(t->year, t->month, 1));
}

static bool month_day_fits(const struct rrule *r, int day, int length) {
    for (size_t i = 0; i < r->n_month_days; i++) {
        int want = r->month_days[i];
        if (day == (want > 0 ? want : length + 1 + want)) {
            return true;
        }
    }
    return r->n_month_days == 0;
}

/* day: of the month, which is `length` long. */
static bool weekday_fits(const struct rrule *r, int weekday_, int day, int length) {
    for (size_t i = 0; i < r->n_days; i++) {
        int n = r->days[i].ordinal;
        if (r->days[i].weekday == weekday_ &&
            (n == 0 || n == (n > 0 ? (day + 6) / 7 : -((length - day + 7) / 7)))) {
            return true;
        }
    }
    return r->n_days == 0;
}

static uint32_t days_of_day(struct rrule_iter *it) {
    struct time_parts t = date_of(it->base);
    int length = month_length(&t);
    return weekday_fits(&it->rule, t.weekday, t.day, length) &&
           month_day_fits(&it->rule, t.day, length);
}

static uint32_t days_of_week(struct rrule_iter *it, int64_t start_day) {
    uint32_t mask = 0;
    for (int i = 0; i < 7; i++) {
        int wd = weekday_of(it->base + i);
        bool is =
            it->rule.n_days > 0 ? weekday_fits(&it->rule, wd, 1, 31) : wd == weekday_of(start_day);
        mask |= is ? 1u << i : 0;
    }
    return mask;
}

static uint32_t days_of_month(struct rrule_iter *it, int64_t start_day) {
    struct time_parts t = date_of(it->base);
    int length = month_length(&t);
    bool plain = it->rule.n_days == 0 && it->rule.n_month_days == 0;
    int only = date_of(start_day).day;
    uint32_t mask = 0;
    for (int d = 1; d <= length; d++) {
        bool is = plain ? d == only
                        : weekday_fits(&it->rule, weekday_of(it->base + d - 1), d, length) &&
                              month_day_fits(&it->rule, d, length);
        mask |= is ? 1u << (d - 1) : 0;
    }
    return mask;
}

/* The first day of a period, and which of its days are occurrences. */
static void open_period(struct rrule_iter *it) {
    int64_t start_day = floor_div(it->start, DAY), n = it->period++ * it->rule.interval;
    if (it->rule.freq == RRULE_DAILY) {
        it->base = start_day + n;
        it->left = days_of_day(it);
    } else if (it->rule.freq == RRULE_WEEKLY) {
        int64_t into = (weekday_of(start_day) - it->rule.week_start + 7) % 7;
        it->base = start_day - into + n * 7;
        it->left = days_of_week(it, start_day);
    } else {
        struct time_parts t = date_of(start_day);
        it->base = day_of(t.year, t.month + (int)n, 1);
        it->left = days_of_month(it, start_day);
    }
}

void rrule_begin(struct rrule_iter *it, const struct rrule *r, const struct zone *z,
                 int64_t start_local) {
    *it = (struct rrule_iter){.rule = *r, .zone = z, .start = start_local};
    int64_t day = floor_div(start_local, DAY);
    it->done = day > last_day || day < -last_day;
}

static bool after_until(const struct rrule_iter *it, int64_t local) {
    const struct rrule *r = &it->rule;
    return (r->has_until == RRULE_UNTIL_LOCAL && local > r->until) ||
           (r->has_until == RRULE_UNTIL_UTC && zone_utc(it->zone, local, NULL) > r->until);
}

bool rrule_next(struct rrule_iter *it, int64_t *ret_local) {
    while (!it->done) {
        if (it->left == 0) {
            open_period(it);
            it->done = it->base > last_day;
            continue;
        }
        int bit = __builtin_ctz(it->left);
        it->left &= it->left - 1;
        int64_t local = (it->base + bit) * DAY + (it->start - floor_div(it->start, DAY) * DAY);
        if (local < it->start) {
            continue;
        }
        if (after_until(it, local)) {
            it->done = true;
            break;
        }
        it->given++;
        it->done = it->rule.count > 0 && it->given >= it->rule.count;
        *ret_local = local;
        return true;
    }
    return false;
}

/* Whole periods before `local` can be passed over when nobody counts. */
static void jump(struct rrule_iter *it, int64_t local) {
    int64_t days = floor_div(local, DAY) - floor_div(it->start, DAY);
    int64_t length = it->rule.freq == RRULE_DAILY ? 1 : it->rule.freq == RRULE_WEEKLY ? 7 : 31;
    int64_t n = days / length / it->rule.interval - 1;
    if (n > it->period) {
        it->period = n;
        it->left = 0;
    }
}

bool rrule_next_from(struct rrule_iter *it, int64_t local, int64_t *ret_local) {
    int64_t found;
    if (it->rule.count == 0 && !it->done && local > it->start) {
        jump(it, local);
    }
    while (rrule_next(it, &found)) {
        if (found >= local) {
            *ret_local = found;
            return true;
        }
    }
    return false;
}

/* ---- dates ---- */

static bool digits(struct str s, size_t at, size_t n, int *ret) {
    int v = 0;
    for (size_t i = at; i < at + n; i++) {
        if (i >= s.n || s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
        v = v * 10 + (s.p[i] - '0');
    }
    *ret = v;
    return true;
}

/* Brought to the form of iCalendar: "-" and ":" dropped where RFC 3339 has them. */
static struct str compact(struct str s, char out[static 24]) {
    size_t n = 0;
    bool dashes = s.n >= 10 && s.p[4] == '-' && s.p[7] == '-';
    for (size_t i = 0; i < s.n && dashes && n < 23; i++) {
        bool drop = i == 4 || i == 7 || ((i == 13 || i == 16) && s.p[i] == ':');
        if (!drop) {
            out[n++] = s.p[i];
        }
    }
    return dashes ? str_from(out, n) : s;
}

int rrule_date_parse(struct str text, struct rrule_date *ret, struct err *err) {
    char plain[24];
    struct str s = text.n <= 20 ? compact(text, plain) : text;
    int y, mo, d, h = 0, mi = 0, se = 0;
    bool ok = (s.n == 8 || s.n == 15 || s.n == 16) && digits(s, 0, 4, &y) && digits(s, 4, 2, &mo) &&
              digits(s, 6, 2, &d);
    if (ok && s.n > 8) {
        ok = s.p[8] == 'T' && digits(s, 9, 2, &h) && digits(s, 11, 2, &mi) &&
             digits(s, 13, 2, &se) && (s.n == 15 || s.p[15] == 'Z');
    }
    int64_t at = ok ? time_join(y, mo, d, h, mi, se) : 0;
    ok = ok && y >= 1900 && y < 2200; /* beyond, nanoseconds overflow */
    struct time_parts t = time_split(ok ? at * INT64_C(1000000000) : 0);
    if (!ok || t.month != mo || t.day != d || h > 23 || mi > 59 || se > 59) {
        return err_set(err, ERR_INVALID,
                       "\"%.*s\" is no date like 20261123T090000, 20261123T080000Z or 20261123",
                       STR_ARG(str_head(text, 64)));
    }
    ret->form = s.n == 8 ? RRULE_DATE_DAY : s.n == 16 ? RRULE_DATE_UTC : RRULE_DATE_LOCAL;
    ret->at = at;
    return 0;
}

bool rrule_date_is(const struct rrule_date *d, const struct zone *z, int64_t local) {
    switch (d->form) {
    case RRULE_DATE_DAY:
        return local >= d->at && local < d->at + DAY;
    case RRULE_DATE_UTC:
        return zone_utc(z, local, NULL) == d->at;
    default:
        return local == d->at;
    }
}

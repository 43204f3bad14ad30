/* cron: a bit for each number that a field allows, and a walk over days. See cron.h. */
#include "wire/text/cron.h"

#include "base/buf.h"
#include "base/clock.h"
#include "wire/text/time.h"

enum { DAY_S = 86400, MINUTES_OF_DAY = 1440, REACH_S = 5 * 366 * DAY_S, NUMBER_MAX = 1 << 20 };
static const int64_t last_instant = INT64_C(7258118400); /* 2200-01-01 */

/* ---- reading ---- */

struct bounds {
    int min, max;
    const char *const *names; /* of min and up; NULL: none */
};
static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul",
                                          "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct bounds bounds[] = {
    {0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, month_names}, {0, 6, day_names}};
enum { FIELDS = sizeof bounds / sizeof *bounds };

/* For messages: enough of a text that may be long. */
static struct str brief(struct str s) {
    return str_head(s, 128);
}

static int parse_number(struct str s, int *ret, struct err *err) {
    uint64_t n;
    struct str digits = str_starts(s, STR("+")) ? str_skip(s, 1) : s;
    if (!str_to_u64(digits, &n) || n > NUMBER_MAX) {
        return err_set(err, ERR_INVALID,
                       "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid "
                       "syntax",
                       STR_ARG(brief(s)), STR_ARG(brief(s)));
    }
    *ret = (int)n;
    return 0;
}

static int parse_value(struct str s, const struct bounds *b, int *ret, struct err *err) {
    for (int i = 0; b->names && b->names[i]; i++) {
        if (str_eq_nocase(s, str_of(b->names[i]))) {
            *ret = b->min + i;
            return 0;
        }
    }
    return parse_number(s, ret, err);
}

struct cron_range {
    int start, end, step;
    bool star; /* all values, and not thinned out */
};

static int check_range(const struct cron_range *r, const struct bounds *b, struct str text,
                       struct err *err) {
    struct str t = brief(text);
    if (r->start < b->min) {
        return err_set(err, ERR_INVALID, "beginning of range (%d) below minimum (%d): %.*s",
                       r->start, b->min, STR_ARG(t));
    }
    if (r->end > b->max) {
        return err_set(err, ERR_INVALID, "end of range (%d) above maximum (%d): %.*s", r->end,
                       b->max, STR_ARG(t));
    }
    if (r->start > r->end) {
        return err_set(err, ERR_INVALID, "beginning of range (%d) beyond end of range (%d): %.*s",
                       r->start, r->end, STR_ARG(t));
    }
    return r->step > 0 ? 0
                       : err_set(err, ERR_INVALID,
                                 "step of range should be a positive number: %.*s", STR_ARG(t));
}

/* "*", "7", "mon-fri", each perhaps with "/2" behind it. */
static int parse_range(struct str text, const struct bounds *b, struct cron_range *ret,
                       struct err *err) {
    struct cron_range r = {.start = b->min, .end = b->max, .step = 1};
    struct str span, step, low, high;
    bool stepped = str_cut(text, '/', &span, &step);
    bool pair = str_cut(span, '-', &low, &high);
    int code = 0;
    r.star = str_is(low, "*") || str_is(low, "?");
    if (!r.star && pair && str_find(high, '-') >= 0) {
        return err_set(err, ERR_INVALID, "too many hyphens: %.*s", STR_ARG(brief(text)));
    }
    if (!r.star) {
        code = parse_value(low, b, &r.start, err);
        r.end = r.start;
        code = code || !pair ? code : parse_value(high, b, &r.end, err);
    }
    if (code == 0 && stepped) {
        if (str_find(step, '/') >= 0) {
            return err_set(err, ERR_INVALID, "too many slashes: %.*s", STR_ARG(brief(text)));
        }
        code = parse_number(step, &r.step, err);
        r.end = pair ? r.end : b->max;
        r.star = r.star && r.step <= 1;
    }
    code = code ? code : check_range(&r, b, text, err);
    if (code == 0) {
        *ret = r;
    }
    return code;
}

static int parse_field(struct str text, const struct bounds *b, uint64_t *ret, bool *ret_star,
                       struct err *err) {
    struct str rest = text, part;
    uint64_t bits = 0;
    bool star = false;
    while (str_next(&rest, ',', &part)) {
        struct cron_range r = {.step = 1};
        if (part.n == 0) {
            continue;
        }
        int code = parse_range(part, b, &r, err);
        if (code != 0) {
            return code;
        }
        for (int i = r.start; i <= r.end; i += r.step) {
            bits |= UINT64_C(1) << i;
        }
        star = star || r.star;
    }
    if (bits == 0) {
        return err_set(err, ERR_INVALID, "a field has no values: %.*s", STR_ARG(brief(text)));
    }
    *ret = bits;
    *ret_star = star;
    return 0;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Words between blanks: how many there are; the first FIELDS of them in v. */
static size_t split(struct str text, struct str v[static FIELDS]) {
    size_t n = 0;
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && !is_blank(text.p[i])) {
            i++;
        }
        if (i > from) {
            if (n < FIELDS) {
                v[n] = str_from(text.p + from, i - from);
            }
            n++;
        } else {
            i++;
        }
    }
    return n;
}

static int parse_fields(struct str text, struct cron *ret, struct err *err) {
    struct cron c = {0};
    struct str v[FIELDS];
    uint64_t *bits[] = {&c.minutes, &c.hours, &c.days, &c.months, &c.weekdays};
    bool star[FIELDS];
    size_t n = split(text, v);
    if (n != FIELDS) {
        return err_set(err, ERR_INVALID, "expected exactly 5 fields, found %zu: [%.*s]", n,
                       STR_ARG(brief(str_trim(text))));
    }
    for (size_t i = 0; i < FIELDS; i++) {
        int code = parse_field(v[i], &bounds[i], bits[i], &star[i], err);
        if (code != 0) {
            return code;
        }
    }
    c.any_day = star[2];
    c.any_weekday = star[4];
    *ret = c;
    return 0;
}

static int parse_every(struct str text, struct cron *ret, struct err *err) {
    int64_t ns;
    struct err why = {0};
    if (duration_parse(text, &ns, &why) != 0) {
        return err_set(err, ERR_INVALID, "failed to parse duration @every %.*s: %s",
                       STR_ARG(brief(text)), why.text);
    }
    *ret = (struct cron){.every_s = ns < NS_PER_SEC ? 1 : ns / NS_PER_SEC};
    return 0;
}

int cron_parse(struct str text, struct cron *ret, struct err *err) {
    static const char *const named[][2] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    struct str every = STR("@every ");
    if (text.n == 0) {
        return err_set(err, ERR_INVALID, "empty spec string");
    }
    if (!str_starts(text, STR("@"))) {
        return parse_fields(text, ret, err);
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (str_is(text, named[i][0])) {
            return parse_fields(str_of(named[i][1]), ret, err);
        }
    }
    if (str_starts(text, every)) {
        return parse_every(str_skip(text, every.n), ret, err);
    }
    return err_set(err, ERR_INVALID, "unrecognized descriptor: %.*s", STR_ARG(brief(text)));
}

/* ---- times ---- */

/* The first and the last number from n on, up and down; -1: none. */
static int bit_from(uint64_t bits, int n) {
    uint64_t left = n > 63 ? 0 : bits >> n;
    return left ? n + __builtin_ctzll(left) : -1;
}

static int bit_until(uint64_t bits, int n) {
    uint64_t left = n < 0 ? 0 : bits & (UINT64_MAX >> (63 - n));
    return left ? 63 - __builtin_clzll(left) : -1;
}

/* The first minute of the day that is due at or after `minute`, and the last at or before it; -1: none. */
static int minute_from(const struct cron *c, int minute) {
    int hour = minute / 60;
    int m = c->hours >> hour & 1 ? bit_from(c->minutes, minute % 60) : -1;
    if (m < 0) {
        hour = bit_from(c->hours, hour + 1);
        m = bit_from(c->minutes, 0);
    }
    return hour < 0 || hour > 23 ? -1 : hour * 60 + m;
}

static int minute_until(const struct cron *c, int minute) {
    int hour = minute / 60;
    int m = c->hours >> hour & 1 ? bit_until(c->minutes, minute % 60) : -1;
    if (m < 0) {
        hour = bit_until(c->hours, hour - 1);
        m = bit_until(c->minutes, 59);
    }
    return hour < 0 ? -1 : hour * 60 + m;
}

static bool is_day(const struct cron *c, int64_t day) {
    struct time_parts p = time_split(day * DAY_S * NS_PER_SEC);
    bool by_day = c->days >> p.day & 1, by_weekday = c->weekdays >> p.weekday & 1;
    if (!(c->months >> p.month & 1)) {
        return false;
    }
    return c->any_day || c->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

static int64_t day_of(int64_t local) {
    return local >= 0 ? local / DAY_S : -((-local + DAY_S - 1) / DAY_S);
}

/* Of one stretch of local time, [from, to): the first and the last minute that is due. */
static bool first_within(const struct cron *c, int64_t from, int64_t to, int64_t *ret) {
    int64_t day = day_of(from);
    int minute = (int)((from - day * DAY_S + 59) / 60);
    for (; day * DAY_S < to; day++, minute = 0) {
        int m = minute < MINUTES_OF_DAY && is_day(c, day) ? minute_from(c, minute) : -1;
        if (m >= 0) {
            *ret = day * DAY_S + m * 60;
            return *ret < to;
        }
    }
    return false;
}

static bool last_within(const struct cron *c, int64_t from, int64_t to, int64_t *ret) {
    int64_t day = day_of(to - 1);
    int minute = (int)((to - 1 - day * DAY_S) / 60);
    for (; (day + 1) * DAY_S > from; day--, minute = MINUTES_OF_DAY - 1) {
        int m = is_day(c, day) ? minute_until(c, minute) : -1;
        if (m >= 0) {
            *ret = day * DAY_S + m * 60;
            return *ret >= from;
        }
    }
    return false;
}

bool cron_next(const struct cron *c, const struct zone *z, int64_t after, int64_t *ret) {
    int64_t t = after < -1 ? 0 : after + 1, local;
    if (t > last_instant || c->every_s > last_instant - t) {
        return false;
    }
    if (c->every_s > 0) {
        *ret = (after < 0 ? 0 : after) + c->every_s;
        return true;
    }
    for (int64_t end = t + REACH_S; t < end;) {
        struct zone_at at = zone_at(z, t);
        int64_t stop = at.until < end ? at.until : end;
        if (first_within(c, t + at.offset, stop + at.offset, &local)) {
            *ret = local - at.offset;
            return true;
        }
        t = stop;
    }
    return false;
}

bool cron_latest(const struct cron *c, const struct zone *z, int64_t after, int64_t until,
                 int64_t *ret) {
    int64_t from = after < 0 ? 0 : after, to = until > last_instant ? last_instant : until, local;
    if (to <= from) {
        return false;
    }
    if (c->every_s > 0) {
        *ret = from + (to - from) / c->every_s * c->every_s;
        return *ret > from;
    }
    from = from < to - REACH_S ? to - REACH_S : from;
    for (int64_t end = to + 1; end > from + 1;) {
        struct zone_at at = zone_at(z, end - 1);
        int64_t begin = at.from > from + 1 ? at.from : from + 1;
        if (last_within(c, begin + at.offset, end + at.offset, &local)) {
            *ret = local - at.offset;
            return true;
        }
        end = begin;
    }
    return false;
}

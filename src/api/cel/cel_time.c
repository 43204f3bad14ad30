/*
 * cel_time: the parts of instants and durations. See cel_tree.h.
 *
 * A zone is UTC or an offset ("+02:00"); names of zones need data that is not there, and are an error.
 */
#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/text/time.h"

#define NS INT64_C(1000000000)

/* "UTC", "Z", "+02:00", "-8:30": seconds to add. */
static bool read_zone(struct str s, int64_t *ret) {
    struct str hours, minutes;
    uint64_t h, m;
    if (s.n == 0 || str_is(s, "UTC") || str_is(s, "Z") || str_is(s, "Etc/UTC")) {
        *ret = 0;
        return true;
    }
    bool minus = s.p[0] == '-';
    s = str_skip(s, minus || s.p[0] == '+');
    if (!str_cut(s, ':', &hours, &minutes) || !str_to_u64(hours, &h) || !str_to_u64(minutes, &m) ||
        h > 23 || m > 59) {
        return false;
    }
    *ret = (int64_t)(h * 3600 + m * 60) * (minus ? -1 : 1);
    return true;
}

static int64_t day_of_year(const struct time_parts *t) {
    return (time_join(t->year, t->month, t->day, 0, 0, 0) - time_join(t->year, 1, 1, 0, 0, 0)) /
           86400;
}

CEL_CALL(call_part) {
    int64_t zone = 0, at;
    struct str f = e->name;
    if (n > 1 && !read_zone(v[1].s, &zone)) {
        return cel_error(r, "unknown time zone %.*s", STR_ARG(str_head(v[1].s, 64)));
    }
    if (__builtin_add_overflow(v[0].i, zone * NS, &at)) {
        return cel_error(r, "timestamp overflow");
    }
    struct time_parts t = time_split(at);
    return cel_int(str_is(f, "getFullYear")     ? t.year
                   : str_is(f, "getMonth")      ? t.month - 1
                   : str_is(f, "getDate")       ? t.day
                   : str_is(f, "getDayOfMonth") ? t.day - 1
                   : str_is(f, "getDayOfWeek")  ? t.weekday
                   : str_is(f, "getDayOfYear")  ? day_of_year(&t)
                   : str_is(f, "getHours")      ? t.hour
                   : str_is(f, "getMinutes")    ? t.minute
                   : str_is(f, "getSeconds")    ? t.second
                                                : t.nano / 1000000);
}

CEL_CALL(call_span) {
    (void)r;
    (void)n;
    struct str f = e->name;
    int64_t unit = str_is(f, "getHours")     ? 3600 * NS
                   : str_is(f, "getMinutes") ? 60 * NS
                   : str_is(f, "getSeconds") ? NS
                                             : NS / 1000;
    return cel_int(v[0].i / unit);
}

#define PART(name_)                                                                                \
    { name_, true, "T>i Ts>i", call_part }
static const struct cel_function functions[] = {
    PART("getFullYear"),
    PART("getMonth"),
    PART("getDate"),
    PART("getDayOfMonth"),
    PART("getDayOfWeek"),
    PART("getDayOfYear"),
    PART("getHours"),
    PART("getMinutes"),
    PART("getSeconds"),
    PART("getMilliseconds"),
    {"getHours", true, "D>i", call_span},
    {"getMinutes", true, "D>i", call_span},
    {"getSeconds", true, "D>i", call_span},
    {"getMilliseconds", true, "D>i", call_span},
};
CEL_FUNCTIONS(cel_time_functions, functions);

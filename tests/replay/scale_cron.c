/*
 * scale_cron: windows of the cron trigger, at instants around the changes of clocks.
 */
#include "base/zoneinfo.h"
#include "core/scale/cron_window.h"
#include "scale_case.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

#define SECOND INT64_C(1000000000)

static bool same_time(bool has, int64_t got, struct str want) {
    int64_t ns = 0;
    return has ? time_parse(want, &ns, NULL) == 0 && ns == got * SECOND : want.n == 0;
}

static bool evaluate(const struct cron_window *w, const struct zone *z, yyjson_val *e,
                     struct buf *difference) {
    struct str now = json_str_at(e, "now");
    struct cron_window_at at;
    struct quantity value;
    int64_t ns = 0;
    if (time_parse(now, &ns, NULL) != 0 ||
        quantity_parse(json_str_at(e, "value"), &value, NULL) != 0) {
        return scale_differs(difference, "%.*s is no time", STR_ARG(now));
    }
    at = cron_window_at(w, z, ns / SECOND);
    bool ok = same_time(at.has_start, at.next_start, json_str_at(e, "nextStart")) &&
              same_time(at.has_end, at.next_end, json_str_at(e, "nextEnd")) &&
              at.inside == json_bool_at(e, "active", false) &&
              quantity_value(value) == (at.inside ? w->replicas : 0) && value.nano == 0;
    return ok || scale_differs(difference, "%.*s: inside %d, start %lld, end %lld", STR_ARG(now),
                               at.inside, (long long)at.next_start, (long long)at.next_end);
}

bool scale_cron(yyjson_val *c, struct arena *a, struct buf *difference) {
    static struct zones *zones; /* read once, kept to the end */
    struct cron_window w;
    const struct zone *z;
    struct err err = {0};
    yyjson_val *list = json_get(c, STR("evaluations"));
    struct str zone = json_str_at(c, "timezone"), start = json_str_at(c, "start");
    struct str end = json_str_at(c, "end");
    if (zones == NULL) {
        zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    }
    if (zones_get(zones, zone, &z, &err) != 0 ||
        cron_window_parse(start, end, json_i64_at(c, "desiredReplicas", 0), &w, &err) != 0) {
        return scale_differs(difference, "%s", err.text);
    }
    if ((w.start_in.n > 0 && zones_get(zones, w.start_in, &w.start_zone, &err) != 0) ||
        (w.end_in.n > 0 && zones_get(zones, w.end_in, &w.end_zone, &err) != 0)) {
        return scale_differs(difference, "%s", err.text);
    }
    struct str name = cron_window_metric(a, json_i64_at(c, "triggerIndex", 0), zone, start, end);
    bool ok = str_eq(name, json_str_at(c, "metricName")) ||
              scale_differs(difference, "metric %.*s", STR_ARG(name));
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        ok = evaluate(&w, z, yyjson_arr_get(list, i), difference) && ok;
    }
    return ok;
}

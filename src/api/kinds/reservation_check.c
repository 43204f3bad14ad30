/* reservation_check: rules of bookings, policies, windows, series, feeds, hardware profiles that tables cannot say. */
#include "api/kinds/kinds.h"
#include "api/tables/view_reservation.h"
#include "wire/text/quantity.h"
#include "wire/text/rrule.h"
#include "wire/text/time.h"
#include "wire/text/zone.h"

/* A time or duration of the object; false when it is absent or broken, which the table has said. */
static bool time_of(yyjson_mut_val *spec, const char *member, int64_t *ret) {
    return time_parse(json_mstr_at(spec, member), ret, NULL) == 0;
}
static bool length_of(yyjson_mut_val *spec, const char *member, int64_t *ret) {
    return duration_parse(json_mstr_at(spec, member), ret, NULL) == 0;
}

/* At least `least`, where it is given. */
static void check_length(yyjson_mut_val *spec, const struct path *at, const char *member,
                         int64_t least, struct causes *c) {
    struct path here = path_member(at, member);
    int64_t ns;
    if (length_of(spec, member, &ns) && ns < least) {
        cause_invalid(c, &here, json_mstr_at(spec, member), "must be %s",
                      least > 0 ? "longer than nothing" : "at least 0s");
    }
}

static void check_zone(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "timeZone");
    struct str zone = json_mstr_at(spec, "timeZone");
    bool ok = zone.n == 0 || (zone.p[0] != '/' && zone.p[0] != '.');
    for (size_t i = 0; i < zone.n; i++) {
        char ch = zone.p[i];
        ok = ok && ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                    (ch >= '0' && ch <= '9') || ch == '/' || ch == '_' || ch == '-' || ch == '+');
    }
    if (!ok) {
        cause_invalid(c, &here, zone, "must be the name of a time zone, such as Europe/Warsaw");
    }
}

static void check_line(yyjson_mut_val *line, const struct path *at, struct causes *c) {
    struct path resource_at = path_member(at, "resource"), any_at = path_member(at, "anyOf");
    struct str resource = json_mstr_at(line, "resource");
    yyjson_mut_val *any = json_mget(line, STR("anyOf"));
    if (resource.n > 0 && str_find(resource, '/') < 0) {
        cause_invalid(c, &resource_at, resource,
                      "must be a device such as nvidia.com/gpu or nvidia.com/mig-2g.35gb");
    }
    if (json_mstr_at(line, "flavor").n > 0 && yyjson_mut_arr_size(any) > 0) {
        cause_forbidden(c, &any_at, "may not be given together with flavor");
    }
    EACH(any, i, flavor) {
        struct path here = path_index(&any_at, i);
        const char *fault = format_fault("dns1123-subdomain", json_mstr(flavor));
        if (fault != NULL) {
            cause_invalid(c, &here, json_mstr(flavor), "%s", fault);
        }
    }
}

static void check_wants(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path lines_at = path_member(at, "lines"), no_show_at = path_member(at, "noShow");
    struct path extend_at = path_member(at, "autoExtend");
    check_zone(spec, at, c);
    EACH(json_mget(spec, STR("lines")), i, line) {
        struct path here = path_index(&lines_at, i);
        check_line(line, &here, c);
    }
    check_length(json_mget(spec, STR("noShow")), &no_show_at, "after", 1, c);
    check_length(json_mget(spec, STR("autoExtend")), &extend_at, "max", 1, c);
}

static void check_flexible(yyjson_mut_val *spec, const struct path *at, int64_t start, int64_t end,
                           struct causes *c) {
    struct path here = path_member(at, "flexible"), earliest_at = path_member(&here, "earliest");
    struct path latest_at = path_member(&here, "latest"),
                min_at = path_member(&here, "minDuration");
    yyjson_mut_val *flexible = json_mget(spec, STR("flexible"));
    int64_t ns;
    if (time_of(flexible, "earliest", &ns) && ns > start) {
        cause_invalid(c, &earliest_at, json_mstr_at(flexible, "earliest"),
                      "must not be after start");
    }
    if (time_of(flexible, "latest", &ns) && ns < end) {
        cause_invalid(c, &latest_at, json_mstr_at(flexible, "latest"), "must not be before end");
    }
    if (length_of(flexible, "minDuration", &ns) && (ns <= 0 || ns > end - start)) {
        cause_invalid(c, &min_at, json_mstr_at(flexible, "minDuration"),
                      "must be longer than nothing, and no longer than from start to end");
    }
}

void reservation_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), end_at = path_member(&at, "end");
    struct path approval_at = path_member(&at, "approval");
    struct path reason_at = path_member(&approval_at, "reason");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    int64_t start, end;
    (void)old;
    check_wants(spec, &at, c);
    if (time_of(spec, "start", &start) && time_of(spec, "end", &end)) {
        if (end <= start) {
            cause_invalid(c, &end_at, json_mstr_at(spec, "end"), "must be after start");
        } else {
            check_flexible(spec, &at, start, end, c);
        }
    }
    if (str_is(json_mstr_at(spec, "approval.decision"), "reject") &&
        json_mstr_at(spec, "approval.reason").n == 0) {
        cause_required(c, &reason_at, "say why it is rejected");
    }
}

static void check_scope(yyjson_mut_val *limits, const struct path *at, const char *scope,
                        struct causes *c) {
    struct path here = path_member(at, scope);
    check_length(json_mget(limits, str_of(scope)), &here, "maxDuration", 1, c);
}

void reservation_policy_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const struct {
        const char *member;
        int64_t least;
    } lengths[] = {{"granularity", INT64_C(60000000000)},
                   {"minDuration", 1},
                   {"maxDuration", 1},
                   {"prepLead", 0},
                   {"reconfigTime", 0},
                   {"overstay", 0},
                   {"approvalTTL", 1},
                   {"offerWindow", 1}};
    static const char *const scopes[] = {"user", "project", "tenant"};
    struct path at = path_member(NULL, "spec"), limits_at = path_member(&at, "limits");
    struct path warnings_at = path_member(&at, "warnings"),
                grid_at = path_member(&at, "granularity");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    int64_t ns, day = INT64_C(86400000000000);
    (void)old;
    check_zone(spec, &at, c);
    for (size_t i = 1; i < COUNT(lengths); i++) {
        check_length(spec, &at, lengths[i].member, lengths[i].least, c);
    }
    if (length_of(spec, "granularity", &ns) && (ns < lengths[0].least || day % ns != 0)) {
        cause_invalid(c, &grid_at, json_mstr_at(spec, "granularity"),
                      "must be at least 1m and divide a day");
    }
    for (size_t i = 0; i < COUNT(scopes); i++) {
        check_scope(json_mget(spec, STR("limits")), &limits_at, scopes[i], c);
    }
    EACH(json_mget(spec, STR("warnings")), i, warning) {
        struct path here = path_index(&warnings_at, i);
        if (duration_parse(json_mstr(warning), &ns, NULL) != 0 || ns <= 0) {
            cause_invalid(c, &here, json_mstr(warning), "must be a duration such as 30m");
        }
    }
}

void capacity_window_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), end_at = path_member(&at, "end");
    struct path nodes_at = path_member(&at, "nodes"), flavor_at = path_member(&at, "flavor");
    struct path resource_at = path_member(&at, "resource"), count_at = path_member(&at, "count");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    bool added = str_is(json_mstr_at(spec, "type"), "Added");
    bool nodes = yyjson_mut_arr_size(json_mget(spec, STR("nodes"))) > 0;
    bool units = json_mstr_at(spec, "flavor").n > 0 || json_mstr_at(spec, "resource").n > 0;
    int64_t start, end;
    (void)old;
    if (time_of(spec, "start", &start) && time_of(spec, "end", &end) && end <= start) {
        cause_invalid(c, &end_at, json_mstr_at(spec, "end"), "must be after start");
    }
    if (!added && json_mstr_at(spec, "end").n == 0) {
        cause_required(c, &end_at, NULL);
    }
    if (nodes && units) {
        cause_forbidden(c, &nodes_at, "may not be given together with flavor or resource");
    }
    if (added && !nodes && json_mstr_at(spec, "flavor").n == 0) {
        cause_required(c, &flavor_at, "what is added has a flavor");
    }
    if (added && !nodes && json_mstr_at(spec, "resource").n == 0) {
        cause_required(c, &resource_at, "what is added is a resource");
    }
    if (added && !nodes && json_mget(spec, STR("count")) == NULL) {
        cause_required(c, &count_at, "say how many are added");
    }
}

/* When it recurs. Which of these days the zone has is found out later: tables know no zones. */
static void check_recurrence(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path rule_at = path_member(at, "rrule"), start_at = path_member(at, "start");
    struct path exdates_at = path_member(at, "exdates");
    struct str rule_text = json_mstr_at(spec, "rrule"), start = json_mstr_at(spec, "start");
    struct rrule rule;
    struct rrule_date date;
    struct err why = {0};
    int64_t local;
    if (rule_text.n > 0 && rrule_parse(rule_text, &rule, &why) != 0) {
        cause_invalid(c, &rule_at, rule_text, "%s", why.text);
    }
    if (start.n > 0 && zone_parse_local(start, &local, NULL) != 0) {
        cause_invalid(c, &start_at, start, "must be a local time such as 2026-11-23T09:00:00");
    }
    EACH(json_mget(spec, STR("exdates")), i, exdate) {
        struct path here = path_index(&exdates_at, i);
        if (rrule_date_parse(json_mstr(exdate), &date, NULL) != 0) {
            cause_invalid(c, &here, json_mstr(exdate),
                          "must be a local start such as 2026-11-30T09:00:00, or a day");
        }
    }
}

void reservation_series_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), template_at = path_member(&at, "template");
    struct path meta_at = path_member(NULL, "metadata"), name_at = path_member(&meta_at, "name");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct str name = json_mstr_at(obj, "metadata.name");
    (void)old;
    if (name.n > 63) { /* it is the value of a label on each occurrence */
        cause_invalid(c, &name_at, name, "must be no more than 63 characters");
    }
    check_recurrence(spec, &at, c);
    check_zone(spec, &at, c);
    check_length(spec, &at, "duration", 1, c);
    check_wants(json_mget(spec, STR("template")), &template_at, c);
}

void calendar_feed_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), resource_at = path_member(&at, "resource");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    (void)old;
    if (str_is(json_mstr_at(spec, "scope"), "resource") && json_mstr_at(spec, "resource").n == 0) {
        cause_required(c, &resource_at, "a feed of a resource names it");
    }
}

/* ---- HardwareProfile ---- */

/* A number or a quantity as text; false when it is absent or broken. */
static bool count_of(yyjson_mut_val *identifier, const char *member, struct quantity *ret) {
    yyjson_mut_val *v = json_mget(identifier, str_of(member));
    char text[32];
    if (yyjson_mut_is_int(v)) {
        int n = snprintf(text, sizeof(text), "%lld", (long long)yyjson_mut_get_sint(v));
        return quantity_parse((struct str){text, (size_t)n}, ret, NULL) == 0;
    }
    return quantity_parse(json_mstr(v), ret, NULL) == 0;
}

/* The bounds are a range that holds the default: an upper bound below the lower one can never be met. */
static void check_counts(yyjson_mut_val *identifier, const struct path *at, struct causes *c) {
    struct path default_at = path_member(at, "defaultCount"), max_at = path_member(at, "maxCount");
    struct path min_at = path_member(at, "minCount");
    struct quantity least, usual, most;
    bool has_least = count_of(identifier, "minCount", &least);
    bool has_usual = count_of(identifier, "defaultCount", &usual);
    bool has_most = count_of(identifier, "maxCount", &most);
    if (has_least && quantity_sign(least) < 0) {
        cause_invalid_json(c, &min_at, json_mget(identifier, STR("minCount")),
                           "must be greater than or equal to 0");
    }
    if (has_least && has_most && quantity_cmp(most, least) < 0) {
        cause_invalid_json(c, &max_at, json_mget(identifier, STR("maxCount")),
                           "must be greater than or equal to minCount");
    }
    if (has_usual && ((has_least && quantity_cmp(usual, least) < 0) ||
                      (has_most && quantity_cmp(usual, most) > 0))) {
        cause_invalid_json(c, &default_at, json_mget(identifier, STR("defaultCount")),
                           "must be between minCount and maxCount");
    }
}

void hardware_profile_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), list_at = path_member(&at, "identifiers");
    struct path scheduling_at = path_member(&at, "scheduling");
    struct path kueue_at = path_member(&scheduling_at, "kueue");
    struct path node_at = path_member(&scheduling_at, "node");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *list = json_mget(spec, STR("identifiers"));
    yyjson_mut_val *kueue = json_mpath(spec, "scheduling.kueue");
    yyjson_mut_val *node = json_mpath(spec, "scheduling.node");
    bool queue = str_is(json_mstr_at(spec, "scheduling.type"), "Queue");
    bool nodes = str_is(json_mstr_at(spec, "scheduling.type"), "Node");
    (void)old;
    EACH(list, i, identifier) {
        struct path here = path_index(&list_at, i);
        check_counts(identifier, &here, c);
    }
    if (queue && kueue == NULL) {
        cause_required(c, &kueue_at, "type Queue needs it");
    }
    if (queue && node != NULL) {
        cause_forbidden(c, &node_at, "may not be set when type is Queue");
    }
    if (nodes && node == NULL) {
        cause_required(c, &node_at, "type Node needs it");
    }
    if (nodes && kueue != NULL) {
        cause_forbidden(c, &kueue_at, "may not be set when type is Node");
    }
}

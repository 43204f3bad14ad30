/*
 * table_reservation_policy: the fields of ReservationPolicy, CapacityWindow, ReservationSeries, CalendarFeed (group
 * berth.dev) and HardwareProfile (infrastructure.opendatahub.io).
 */
#include "api/tables/table.h"
#include "api/tables/view_reservation.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")
#define META(view_)                                                                                \
    M(view_, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,                             \
      .doc = "Name, labels and the other things that every object has.")
#define DOC_WANTED "What is wanted."
#define DOC_SEEN "What was last observed."

/* ---- ReservationPolicy ---- */

static const char *const class_values[] = {"standard", "production", "teaching", "maintenance",
                                           NULL};
static const char *const geometry_values[] = {"dynamic", "static", NULL};
static const char *const by_values[] = {"auto", "manager", "admin", NULL};

static const struct field pool_fields[] = {
    M(reservation_pool, cohort, STRING, ONE, "cohort", 0, .def = "\"pool\"", .max = 253,
      .format = "dns1123-subdomain", .doc = "Cohort whose quota is booked."),
    M(reservation_pool, flavors, STRING, LIST, "flavors", 0, .flags = FIELD_F_ATOMIC, .max = 64,
      .doc = "ResourceFlavors that can be booked; none: all that have GPUs."),
};
static const struct schema schema_pool =
    SCHEMA("dev.berth.v1alpha1.ReservationPool", pool_fields, sizeof(struct reservation_pool),
           "What can be booked.");

static const struct field amount_fields[] = {
    M(reservation_amount, resource, STRING, ONE, "resource", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 253, .format = "label-key", .doc = "The resource."),
    M(reservation_amount, count, INT32, ONE, "count", 0, .min = 0, .max = 65536,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "How many."),
};
static const struct schema schema_amount =
    SCHEMA("dev.berth.v1alpha1.ReservationAmount", amount_fields, sizeof(struct reservation_amount),
           "So many of a resource.");

static const struct field limits_fields[] = {
    M(reservation_limits, concurrent_units, INT32, ONE, "concurrentUnits", 0, .flags = FIELD_F_OPT,
      .min = 0, .max = 1000000, .doc = "Units booked at any one time."),
    M(reservation_limits, future_bookings, INT32, ONE, "futureBookings", 0, .flags = FIELD_F_OPT,
      .min = 0, .max = 1000000, .doc = "Bookings that have not ended."),
    M(reservation_limits, max_duration_ns, DURATION, ONE, "maxDuration", 0,
      .doc = "The longest booking; bookings without a gap count as one."),
    M(reservation_limits, gpu_hours_per_week, INT32, ONE, "gpuHoursPerWeek", 0,
      .flags = FIELD_F_OPT, .min = 0, .max = 100000000, .doc = "GPU hours in any seven days."),
    M(reservation_limits, gpu_hours_per_month, INT32, ONE, "gpuHoursPerMonth", 0,
      .flags = FIELD_F_OPT, .min = 0, .max = 100000000, .doc = "GPU hours in any 30 days."),
};
static const struct schema schema_limits =
    SCHEMA("dev.berth.v1alpha1.ReservationLimits", limits_fields, sizeof(struct reservation_limits),
           "The most that may be booked; absent: no limit.");

static const struct field scopes_fields[] = {
    M(reservation_scopes, user, OBJECT, ONE, "user", 0, .of = &schema_limits, .flags = FIELD_F_OPT,
      .doc = "Of each user, over all projects."),
    M(reservation_scopes, project, OBJECT, ONE, "project", 0, .of = &schema_limits,
      .flags = FIELD_F_OPT, .doc = "Of each project."),
    M(reservation_scopes, tenant, OBJECT, ONE, "tenant", 0, .of = &schema_limits,
      .flags = FIELD_F_OPT,
      .doc = "Of all projects with the same label berth.dev/tenant together."),
};
static const struct schema schema_scopes =
    SCHEMA("dev.berth.v1alpha1.ReservationScopes", scopes_fields, sizeof(struct reservation_scopes),
           "Limits; the lowest one counts.");

static const struct field match_fields[] = {
    M(reservation_match, class_name, STRING, ONE, "class", 0, .values = class_values,
      .doc = "Bookings of this class."),
    M(reservation_match, min_units, INT32, ONE, "minUnits", 0, .min = 0, .max = 1000000,
      .doc = "Bookings of at least so many units."),
    M(reservation_match, min_duration_ns, DURATION, ONE, "minDuration", 0,
      .doc = "Bookings of at least this length."),
    M(reservation_match, project, STRING, ONE, "project", 0, .max = 63, .format = "dns1123-label",
      .doc = "Bookings in this project."),
};
static const struct schema schema_match =
    SCHEMA("dev.berth.v1alpha1.ReservationMatch", match_fields, sizeof(struct reservation_match),
           "All that is given must hold.");

static const struct field rule_fields[] = {
    M(reservation_rule, match, OBJECT, ONE, "match", 0, .of = &schema_match, .flags = FIELD_F_OPT,
      .doc = "For which bookings; absent: all."),
    M(reservation_rule, by, STRING, ONE, "by", 0, .flags = FIELD_F_REQUIRED, .values = by_values,
      .doc = "auto: nobody; manager: who administers the project; admin: the cluster's."),
};
static const struct schema schema_approval_rule =
    SCHEMA("dev.berth.v1alpha1.ReservationApprovalRule", rule_fields,
           sizeof(struct reservation_rule), "Who approves.");

static const char *const no_show_values[] = {"warn", "release", NULL};
static const struct field policy_no_show_fields[] = {
    M(reservation_no_show, after_ns, DURATION, ONE, "after", 0, .def = "\"30m\"",
      .doc = "How long nothing may run before it counts as unused."),
    M(reservation_no_show, action, STRING, ONE, "action", 0, .def = "\"warn\"",
      .values = no_show_values, .doc = "warn: an Event, once; release: it ends."),
};
static const struct schema schema_policy_no_show =
    SCHEMA("dev.berth.v1alpha1.ReservationPolicyNoShow", policy_no_show_fields,
           sizeof(struct reservation_no_show), "What happens when nobody comes.");

static const struct field policy_spec_fields[] = {
    M(reservation_policy_spec, pool, OBJECT, ONE, "pool", 0, .of = &schema_pool, .def = "{}",
      .doc = "What can be booked."),
    M(reservation_policy_spec, time_zone, STRING, ONE, "timeZone", 0, .def = "\"UTC\"", .max = 64,
      .doc = "IANA time zone of the grid and of calendars."),
    M(reservation_policy_spec, granularity_ns, DURATION, ONE, "granularity", 0, .def = "\"15m\"",
      .doc = "Bookings start and end on this grid."),
    M(reservation_policy_spec, min_duration_ns, DURATION, ONE, "minDuration", 0, .def = "\"30m\"",
      .doc = "The shortest booking."),
    M(reservation_policy_spec, max_duration_ns, DURATION, ONE, "maxDuration", 0, .def = "\"336h\"",
      .doc = "The longest booking; those of one owner without a gap count as one."),
    M(reservation_policy_spec, days_ahead, INT32, ONE, "daysAhead", 0, .flags = FIELD_F_KEEP_EMPTY,
      .def = "90", .min = 1, .max = 3660, .doc = "How far ahead a booking may start."),
    M(reservation_policy_spec, prep_lead_ns, DURATION, ONE, "prepLead", 0, .def = "\"5m\"",
      .doc = "How long before the start its objects are made."),
    M(reservation_policy_spec, geometry, STRING, ONE, "geometry", 0, .def = "\"dynamic\"",
      .values = geometry_values,
      .doc = "dynamic: GPUs are sliced as booked; static: the slices that there are."),
    M(reservation_policy_spec, reconfig_time_ns, DURATION, ONE, "reconfigTime", 0, .def = "\"0s\"",
      .doc = "How long a GPU is idle between two uses that slice it otherwise."),
    M(reservation_policy_spec, overstay_ns, DURATION, ONE, "overstay", 0, .def = "\"2h\"",
      .doc = "How long work may stay after the end."),
    M(reservation_policy_spec, warnings, STRING, LIST, "warnings", 0, .flags = FIELD_F_ATOMIC,
      .max = 8, .doc = "When work is warned before the end; none: 30m, 15m and 5m."),
    M(reservation_policy_spec, on_demand_floor, OBJECT, LIST, "onDemandFloor", 0,
      .of = &schema_amount, .list_keys = "resource", .max = 64,
      .doc = "What is never booked, for those without a booking."),
    M(reservation_policy_spec, limits, OBJECT, ONE, "limits", 0, .of = &schema_scopes,
      .flags = FIELD_F_OPT, .doc = "The most that may be booked."),
    M(reservation_policy_spec, approval, OBJECT, LIST, "approval", 0, .of = &schema_approval_rule,
      .flags = FIELD_F_ATOMIC, .max = 32,
      .doc = "Who approves: the first rule that matches; none does: nobody needs to."),
    M(reservation_policy_spec, approval_ttl_ns, DURATION, ONE, "approvalTTL", 0, .def = "\"48h\"",
      .doc = "How long a place is held for approval; never past its start."),
    M(reservation_policy_spec, offer_window_ns, DURATION, ONE, "offerWindow", 0, .def = "\"30m\"",
      .doc = "How long an offer stands; never past its start."),
    M(reservation_policy_spec, no_show, OBJECT, ONE, "noShow", 0, .of = &schema_policy_no_show,
      .def = "{}", .doc = "For bookings that do not say."),
};
const struct schema schema_reservation_policy_spec =
    SCHEMA("dev.berth.v1alpha1.ReservationPolicySpec", policy_spec_fields,
           sizeof(struct reservation_policy_spec), NULL);

static const struct field policy_fields[] = {
    API_VERSION,
    KIND,
    META(reservation_policy),
    M(reservation_policy, spec, OBJECT, ONE, "spec", 0, .of = &schema_reservation_policy_spec,
      .def = "{}", .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_WANTED),
};
const struct schema schema_reservation_policy =
    SCHEMA("dev.berth.v1alpha1.ReservationPolicy", policy_fields, sizeof(struct reservation_policy),
           "The rules of booking; the one named default counts.");

/* ---- CapacityWindow ---- */

static const char *const window_values[] = {"Maintenance", "Added", "Blackout", NULL};

static const struct field window_spec_fields[] = {
    M(capacity_window_spec, start_ns, TIME, ONE, "start", 0, .flags = FIELD_F_REQUIRED,
      .doc = "From when, in UTC."),
    M(capacity_window_spec, end_ns, TIME, ONE, "end", 0,
      .doc = "Until when; absent for what is added: for good."),
    M(capacity_window_spec, type, STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED,
      .values = window_values,
      .doc = "Maintenance: it is missing; Added: it comes; Blackout: it is there, not to book."),
    M(capacity_window_spec, nodes, STRING, LIST, "nodes", 0, .flags = FIELD_F_ATOMIC, .max = 1024,
      .doc = "Whole nodes."),
    M(capacity_window_spec, flavor, STRING, ONE, "flavor", 0, .max = 253,
      .format = "dns1123-subdomain", .doc = "Or units of this ResourceFlavor."),
    M(capacity_window_spec, resource, STRING, ONE, "resource", 0, .max = 253, .format = "label-key",
      .doc = "Which units."),
    M(capacity_window_spec, count, INT32, ONE, "count", 0, .flags = FIELD_F_OPT, .min = 1,
      .max = 65536, .doc = "How many units; absent: all."),
    M(capacity_window_spec, reason, STRING, ONE, "reason", 0, .max = 1024,
      .doc = "Why; shown to everybody."),
    M(capacity_window_spec, force, BOOL, ONE, "force", 0,
      .doc = "Take it from bookings that are in the way, lowest class and latest first."),
};
static const struct schema schema_window_spec =
    SCHEMA("dev.berth.v1alpha1.CapacityWindowSpec", window_spec_fields,
           sizeof(struct capacity_window_spec), NULL);

static const struct field window_conflict_fields[] = {
    M(capacity_conflict, namespace, STRING, ONE, "namespace", 0, .doc = "Of the Reservation."),
    M(capacity_conflict, name, STRING, ONE, "name", 0, .doc = "The Reservation."),
    M(capacity_conflict, start_ns, TIME, ONE, "start", 0, .doc = "Its start."),
    M(capacity_conflict, end_ns, TIME, ONE, "end", 0, .doc = "Its end."),
    M(capacity_conflict, text, STRING, ONE, "text", 0, .doc = "What it has, for people."),
};
static const struct schema schema_window_conflict =
    SCHEMA("dev.berth.v1alpha1.CapacityConflict", window_conflict_fields,
           sizeof(struct capacity_conflict), "A booking that is in the way.");

static const struct field window_status_fields[] = {
    M(capacity_window_status, conflicts, OBJECT, LIST, "conflicts", 0,
      .of = &schema_window_conflict, .flags = FIELD_F_ATOMIC,
      .doc = "Bookings that are in the way; not all when there are many."),
    M(capacity_window_status, applied, BOOL, ONE, "applied", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "It counts. While bookings are in the way it does not, unless forced."),
    M(capacity_window_status, message, STRING, ONE, "message", 0, .doc = "Why not."),
    M(capacity_window_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "The spec that this was decided for."),
};
static const struct schema schema_window_status =
    SCHEMA("dev.berth.v1alpha1.CapacityWindowStatus", window_status_fields,
           sizeof(struct capacity_window_status), NULL);

static const struct field window_fields[] = {
    API_VERSION,
    KIND,
    META(capacity_window),
    M(capacity_window, spec, OBJECT, ONE, "spec", 0, .of = &schema_window_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = DOC_WANTED),
    M(capacity_window, status, OBJECT, ONE, "status", 0, .of = &schema_window_status,
      .doc = DOC_SEEN),
};
const struct schema schema_capacity_window =
    SCHEMA("dev.berth.v1alpha1.CapacityWindow", window_fields, sizeof(struct capacity_window),
           "A planned change of what can be booked: maintenance, new nodes, days off.");

/* ---- ReservationSeries ---- */

static const char *const conflict_values[] = {"Reject", "Skip", "Waitlist", NULL};

static const struct field series_spec_fields[] = {
    M(reservation_series_spec, time_zone, STRING, ONE, "timeZone", 0, .def = "\"UTC\"", .max = 64,
      .doc = "IANA time zone in which it recurs."),
    M(reservation_series_spec, start, STRING, ONE, "start", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 32, .doc = "First start, as local time: 2026-11-23T09:00:00."),
    M(reservation_series_spec, duration_ns, DURATION, ONE, "duration", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Length of each, such as 4h, also when clocks change."),
    M(reservation_series_spec, rrule, STRING, ONE, "rrule", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 512, .doc = "How it recurs, as in RFC 5545: FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10."),
    M(reservation_series_spec, exdates, STRING, LIST, "exdates", 0, .flags = FIELD_F_ATOMIC,
      .max = 366, .doc = "Local starts that are left out."),
    M(reservation_series_spec, conflict_policy, STRING, ONE, "conflictPolicy", 0,
      .def = "\"Reject\"", .values = conflict_values,
      .doc = "When one does not fit. Reject: none is made; Skip: that one is not; Waitlist: it "
             "waits in line."),
    M(reservation_series_spec, max_conflicts, INT32, ONE, "maxConflicts", 0, .min = 0, .max = 366,
      .doc = "How many may be skipped or wait; 0: any number."),
    M(reservation_series_spec, template, OBJECT, ONE, "template", 0,
      .of = &schema_reservation_template, .flags = FIELD_F_REQUIRED,
      .doc = "What each of them books."),
};
static const struct schema schema_series_spec =
    SCHEMA("dev.berth.v1alpha1.ReservationSeriesSpec", series_spec_fields,
           sizeof(struct reservation_series_spec), NULL);

static const struct field occurrence_fields[] = {
    M(series_occurrence, recurrence_id, STRING, ONE, "recurrenceId", 0, .doc = "Local start."),
    M(series_occurrence, reservation, STRING, ONE, "reservation", 0, .doc = "Its Reservation."),
    M(series_occurrence, start_ns, TIME, ONE, "start", 0, .doc = "Its start."),
    M(series_occurrence, end_ns, TIME, ONE, "end", 0, .doc = "Its end."),
    M(series_occurrence, phase, STRING, ONE, "phase", 0, .doc = "Its phase."),
};
static const struct schema schema_occurrence =
    SCHEMA("dev.berth.v1alpha1.SeriesOccurrence", occurrence_fields,
           sizeof(struct series_occurrence), "One of the series.");

static const struct field skip_fields[] = {
    M(series_skip, recurrence_id, STRING, ONE, "recurrenceId", 0, .doc = "Local start."),
    M(series_skip, start_ns, TIME, ONE, "start", 0, .doc = "Its start."),
    M(series_skip, end_ns, TIME, ONE, "end", 0, .doc = "Its end."),
    M(series_skip, reason, STRING, ONE, "reason", 0, .doc = "Why, in one word."),
    M(series_skip, message, STRING, ONE, "message", 0, .doc = "Why, for people."),
};
static const struct schema schema_skip =
    SCHEMA("dev.berth.v1alpha1.SeriesSkip", skip_fields, sizeof(struct series_skip),
           "One that was left out.");

static const struct field series_status_fields[] = {
    M(reservation_series_status, occurrences, OBJECT, LIST, "occurrences", 0,
      .of = &schema_occurrence, .flags = FIELD_F_ATOMIC, .doc = "Those that are made."),
    M(reservation_series_status, skipped, OBJECT, LIST, "skipped", 0, .of = &schema_skip,
      .flags = FIELD_F_ATOMIC, .doc = "Those that are not, and why."),
    M(reservation_series_status, horizon_ns, TIME, ONE, "horizon", 0,
      .doc = "They are made up to this."),
    M(reservation_series_status, tzdata, STRING, ONE, "tzdata", 0,
      .doc = "Version of the time zone data they were computed with."),
    M(reservation_series_status, message, STRING, ONE, "message", 0, .doc = "For people."),
    M(reservation_series_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "The spec that this was decided for."),
    M(reservation_series_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "What is true of it now, one entry for each type of condition."),
};
static const struct schema schema_series_status =
    SCHEMA("dev.berth.v1alpha1.ReservationSeriesStatus", series_status_fields,
           sizeof(struct reservation_series_status), NULL);

static const struct field series_fields[] = {
    API_VERSION,
    KIND,
    META(reservation_series),
    M(reservation_series, spec, OBJECT, ONE, "spec", 0, .of = &schema_series_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = DOC_WANTED),
    M(reservation_series, status, OBJECT, ONE, "status", 0, .of = &schema_series_status,
      .doc = DOC_SEEN),
};
const struct schema schema_reservation_series =
    SCHEMA("dev.berth.v1alpha1.ReservationSeries", series_fields, sizeof(struct reservation_series),
           "Bookings that recur.");

/* ---- CalendarFeed ---- */

static const char *const scope_values[] = {"own", "project", "resource", "freebusy", NULL};

static const struct field feed_spec_fields[] = {
    M(calendar_feed_spec, scope, STRING, ONE, "scope", 0, .def = "\"own\"", .values = scope_values,
      .doc = "own: bookings of who made the feed; project: of this namespace; resource, "
             "freebusy: when things are taken, not by whom."),
    M(calendar_feed_spec, resource, STRING, ONE, "resource", 0, .max = 253, .format = "label-key",
      .doc = "For resource: which."),
    M(calendar_feed_spec, revision, INT64, ONE, "revision", 0, .min = 0, .max = 1000000000,
      .doc = "Another number gives it another address; the old one is gone."),
};
static const struct schema schema_feed_spec =
    SCHEMA("dev.berth.v1alpha1.CalendarFeedSpec", feed_spec_fields,
           sizeof(struct calendar_feed_spec), NULL);

static const struct field feed_status_fields[] = {
    M(calendar_feed_status, path, STRING, ONE, "path", 0,
      .doc = "Where calendars find it. Who has this address can read it."),
    M(calendar_feed_status, user, STRING, ONE, "user", 0, .doc = "Who made it."),
    M(calendar_feed_status, message, STRING, ONE, "message", 0, .doc = "Why there is no path."),
    M(calendar_feed_status, revision, INT64, ONE, "revision", 0,
      .doc = "The revision that the path is for."),
    M(calendar_feed_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "What is true of it now, one entry for each type of condition."),
};
static const struct schema schema_feed_status =
    SCHEMA("dev.berth.v1alpha1.CalendarFeedStatus", feed_status_fields,
           sizeof(struct calendar_feed_status), NULL);

static const struct field feed_fields[] = {
    API_VERSION,
    KIND,
    META(calendar_feed),
    M(calendar_feed, spec, OBJECT, ONE, "spec", 0, .of = &schema_feed_spec, .def = "{}",
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_WANTED),
    M(calendar_feed, status, OBJECT, ONE, "status", 0, .of = &schema_feed_status, .doc = DOC_SEEN),
};
const struct schema schema_calendar_feed =
    SCHEMA("dev.berth.v1alpha1.CalendarFeed", feed_fields, sizeof(struct calendar_feed),
           "An address at which calendar programs find bookings.");

/* ---- HardwareProfile ---- */

static const char *const type_values[] = {"Queue", "Node", NULL};
static const char *const resource_values[] = {"CPU", "Memory", "Accelerator", NULL};

static const struct field identifier_fields[] = {
    M(hardware_identifier, display_name, STRING, ONE, "displayName", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 253, .doc = "The resource for people."),
    M(hardware_identifier, identifier, STRING, ONE, "identifier", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 253, .doc = "The resource: cpu, memory, nvidia.com/gpu, ..."),
    M(hardware_identifier, min_count, INT_OR_STRING, ONE, "minCount", 0, .flags = FIELD_F_REQUIRED,
      .doc = "The least that can be chosen."),
    M(hardware_identifier, default_count, INT_OR_STRING, ONE, "defaultCount", 0,
      .flags = FIELD_F_REQUIRED, .doc = "What is chosen when nobody does."),
    M(hardware_identifier, max_count, INT_OR_STRING, ONE, "maxCount", 0,
      .doc = "The most that can be chosen; absent: no bound."),
    M(hardware_identifier, resource_type, STRING, ONE, "resourceType", 0, .values = resource_values,
      .doc = "CPU, Memory or Accelerator."),
};
static const struct schema schema_identifier =
    SCHEMA("io.opendatahub.infrastructure.v1.HardwareIdentifier", identifier_fields,
           sizeof(struct hardware_identifier), "How much of a resource.");

static const struct field kueue_fields[] = {
    M(hardware_kueue, local_queue_name, STRING, ONE, "localQueueName", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 253, .doc = "LocalQueue that work is sent to."),
    M(hardware_kueue, priority_class, STRING, ONE, "priorityClass", 0, .max = 253,
      .doc = "WorkloadPriorityClass of that work."),
};
static const struct schema schema_hardware_kueue =
    SCHEMA("io.opendatahub.infrastructure.v1.KueueScheduling", kueue_fields,
           sizeof(struct hardware_kueue), "By a queue.");

static const struct field hardware_node_fields[] = {
    M(hardware_node, node_selector, STRING, MAP, "nodeSelector", 0,
      .doc = "Labels that the node must have."),
    M(hardware_node, tolerations, OBJECT, LIST, "tolerations", 0, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .doc = "Taints that are put up with."),
};
static const struct schema schema_hardware_node =
    SCHEMA("io.opendatahub.infrastructure.v1.NodeScheduling", hardware_node_fields,
           sizeof(struct hardware_node), "By labels of nodes.");

static const struct field scheduling_fields[] = {
    M(hardware_scheduling, type, STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED,
      .values = type_values, .doc = "Queue (needs kueue) or Node (needs node)."),
    M(hardware_scheduling, kueue, OBJECT, ONE, "kueue", 0, .of = &schema_hardware_kueue,
      .flags = FIELD_F_OPT, .doc = "By a queue."),
    M(hardware_scheduling, node, OBJECT, ONE, "node", 0, .of = &schema_hardware_node,
      .flags = FIELD_F_OPT, .doc = "By labels of nodes."),
};
static const struct schema schema_scheduling_spec =
    SCHEMA("io.opendatahub.infrastructure.v1.SchedulingSpec", scheduling_fields,
           sizeof(struct hardware_scheduling), "Where work goes.");

static const struct field profile_spec_fields[] = {
    M(hardware_profile_spec, identifiers, OBJECT, LIST, "identifiers", 0, .of = &schema_identifier,
      .flags = FIELD_F_ATOMIC, .max = 64, .doc = "Resources, and how much of each."),
    M(hardware_profile_spec, scheduling, OBJECT, ONE, "scheduling", 0,
      .of = &schema_scheduling_spec, .flags = FIELD_F_OPT, .doc = "Where work goes."),
};
static const struct schema schema_profile_spec =
    SCHEMA("io.opendatahub.infrastructure.v1.HardwareProfileSpec", profile_spec_fields,
           sizeof(struct hardware_profile_spec), NULL);

static const struct field profile_fields[] = {
    API_VERSION,
    KIND,
    META(hardware_profile),
    M(hardware_profile, spec, OBJECT, ONE, "spec", 0, .of = &schema_profile_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = DOC_WANTED),
};
const struct schema schema_hardware_profile =
    SCHEMA("io.opendatahub.infrastructure.v1.HardwareProfile", profile_fields,
           sizeof(struct hardware_profile), "A choice of hardware for notebooks and servers.");

/*
 * table_reservation_policy: the fields of ReservationPolicy, CapacityWindow, ReservationSeries, CalendarFeed (group
 * berth.dev) and HardwareProfile (infrastructure.opendatahub.io).
 */
#include "api/tables/table.h"
#include "api/tables/view_reservation.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")
#define META(view_)                                                                                \
    M(view_, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,                             \
      .doc = "Standard object metadata.")
#define DOC_WANTED "Desired state, set by the user."
#define DOC_SEEN "Observed state, set by controllers."

/* ---- ReservationPolicy ---- */

static const char *const class_values[] = {"standard", "production", "teaching", "maintenance",
                                           NULL};
static const char *const geometry_values[] = {"dynamic", "static", NULL};
static const char *const by_values[] = {"auto", "manager", "admin", NULL};

static const struct field pool_fields[] = {
    M(reservation_pool, cohort, STRING, ONE, "cohort", 0, .def = "\"pool\"", .max = 253,
      .format = "dns1123-subdomain", .doc = "Cohort whose quota can be booked."),
    M(reservation_pool, flavors, STRING, LIST, "flavors", 0, .flags = FIELD_F_ATOMIC, .max = 64,
      .doc = "ResourceFlavors that can be booked; none: all that have GPUs."),
};
static const struct schema schema_pool =
    SCHEMA("dev.berth.v1alpha1.ReservationPool", pool_fields, sizeof(struct reservation_pool),
           "What can be booked.");

static const struct field amount_fields[] = {
    M(reservation_amount, resource, STRING, ONE, "resource", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 253, .format = "label-key", .doc = "Name of the resource."),
    M(reservation_amount, count, INT32, ONE, "count", 0, .min = 0, .max = 65536,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Number of units."),
};
static const struct schema schema_amount =
    SCHEMA("dev.berth.v1alpha1.ReservationAmount", amount_fields, sizeof(struct reservation_amount),
           "Amount of a resource.");

static const struct field limits_fields[] = {
    M(reservation_limits, concurrent_units, INT32, ONE, "concurrentUnits", 0, .flags = FIELD_F_OPT,
      .min = 0, .max = 1000000, .doc = "Maximum units booked at the same time."),
    M(reservation_limits, future_bookings, INT32, ONE, "futureBookings", 0, .flags = FIELD_F_OPT,
      .min = 0, .max = 1000000, .doc = "Maximum number of bookings that have not ended."),
    M(reservation_limits, max_duration_ns, DURATION, ONE, "maxDuration", 0,
      .doc = "Maximum duration; consecutive bookings count as one."),
    M(reservation_limits, gpu_hours_per_week, INT32, ONE, "gpuHoursPerWeek", 0,
      .flags = FIELD_F_OPT, .min = 0, .max = 100000000,
      .doc = "Maximum GPU hours in any seven days."),
    M(reservation_limits, gpu_hours_per_month, INT32, ONE, "gpuHoursPerMonth", 0,
      .flags = FIELD_F_OPT, .min = 0, .max = 100000000, .doc = "Maximum GPU hours in any 30 days."),
};
static const struct schema schema_limits =
    SCHEMA("dev.berth.v1alpha1.ReservationLimits", limits_fields, sizeof(struct reservation_limits),
           "Limits on bookings; absent: no limit.");

static const struct field scopes_fields[] = {
    M(reservation_scopes, user, OBJECT, ONE, "user", 0, .of = &schema_limits, .flags = FIELD_F_OPT,
      .doc = "Limits of each user, over all projects."),
    M(reservation_scopes, project, OBJECT, ONE, "project", 0, .of = &schema_limits,
      .flags = FIELD_F_OPT, .doc = "Limits of each project."),
    M(reservation_scopes, tenant, OBJECT, ONE, "tenant", 0, .of = &schema_limits,
      .flags = FIELD_F_OPT,
      .doc = "Limits of all projects with the same label berth.dev/tenant together."),
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
           "Matches bookings for which every given condition is true.");

static const struct field rule_fields[] = {
    M(reservation_rule, match, OBJECT, ONE, "match", 0, .of = &schema_match, .flags = FIELD_F_OPT,
      .doc = "Bookings to which the rule applies; absent: all."),
    M(reservation_rule, by, STRING, ONE, "by", 0, .flags = FIELD_F_REQUIRED, .values = by_values,
      .doc = "Approver. auto: none needed; manager: administrators of the project; admin: "
             "administrators of the cluster."),
};
static const struct schema schema_approval_rule =
    SCHEMA("dev.berth.v1alpha1.ReservationApprovalRule", rule_fields,
           sizeof(struct reservation_rule), "Approver.");

static const char *const no_show_values[] = {"warn", "release", NULL};
static const struct field policy_no_show_fields[] = {
    M(reservation_no_show, after_ns, DURATION, ONE, "after", 0, .def = "\"30m\"",
      .doc = "Idle time after which a booking counts as a no-show."),
    M(reservation_no_show, action, STRING, ONE, "action", 0, .def = "\"warn\"",
      .values = no_show_values, .doc = "warn: emit one Event; release: end the booking."),
};
static const struct schema schema_policy_no_show =
    SCHEMA("dev.berth.v1alpha1.ReservationPolicyNoShow", policy_no_show_fields,
           sizeof(struct reservation_no_show), "What happens to a booking that is not used.");

static const struct field policy_spec_fields[] = {
    M(reservation_policy_spec, pool, OBJECT, ONE, "pool", 0, .of = &schema_pool, .def = "{}",
      .doc = "What can be booked."),
    M(reservation_policy_spec, time_zone, STRING, ONE, "timeZone", 0, .def = "\"UTC\"", .max = 64,
      .doc = "IANA time zone of the grid and of calendars."),
    M(reservation_policy_spec, granularity_ns, DURATION, ONE, "granularity", 0, .def = "\"15m\"",
      .doc = "Bookings start and end on this grid."),
    M(reservation_policy_spec, min_duration_ns, DURATION, ONE, "minDuration", 0, .def = "\"30m\"",
      .doc = "Minimum duration of a booking."),
    M(reservation_policy_spec, max_duration_ns, DURATION, ONE, "maxDuration", 0, .def = "\"336h\"",
      .doc = "Maximum duration; consecutive bookings of one owner count as one."),
    M(reservation_policy_spec, days_ahead, INT32, ONE, "daysAhead", 0, .flags = FIELD_F_KEEP_EMPTY,
      .def = "90", .min = 1, .max = 3660, .doc = "How far in the future a booking can start."),
    M(reservation_policy_spec, prep_lead_ns, DURATION, ONE, "prepLead", 0, .def = "\"5m\"",
      .doc = "How long before the start its objects are created."),
    M(reservation_policy_spec, geometry, STRING, ONE, "geometry", 0, .def = "\"dynamic\"",
      .values = geometry_values,
      .doc = "dynamic: MIG slices are created as booked; static: only existing slices are booked."),
    M(reservation_policy_spec, reconfig_time_ns, DURATION, ONE, "reconfigTime", 0, .def = "\"0s\"",
      .doc = "Idle time of a GPU between two bookings that need different slices."),
    M(reservation_policy_spec, overstay_ns, DURATION, ONE, "overstay", 0, .def = "\"2h\"",
      .doc = "Grace period for work after the end."),
    M(reservation_policy_spec, warnings, STRING, LIST, "warnings", 0, .flags = FIELD_F_ATOMIC,
      .max = 8, .doc = "Warning times before the end; unset: 30m, 15m and 5m."),
    M(reservation_policy_spec, on_demand_floor, OBJECT, LIST, "onDemandFloor", 0,
      .of = &schema_amount, .list_keys = "resource", .max = 64,
      .doc = "Units kept free for work without a booking."),
    M(reservation_policy_spec, limits, OBJECT, ONE, "limits", 0, .of = &schema_scopes,
      .flags = FIELD_F_OPT, .doc = "Limits on bookings."),
    M(reservation_policy_spec, approval, OBJECT, LIST, "approval", 0, .of = &schema_approval_rule,
      .flags = FIELD_F_ATOMIC, .max = 32,
      .doc = "Approval rules; the first match decides, and without a match no approval is needed."),
    M(reservation_policy_spec, approval_ttl_ns, DURATION, ONE, "approvalTTL", 0, .def = "\"48h\"",
      .doc = "How long a place is held for approval, at most until the start."),
    M(reservation_policy_spec, offer_window_ns, DURATION, ONE, "offerWindow", 0, .def = "\"30m\"",
      .doc = "How long an offer can be claimed, at most until the start."),
    M(reservation_policy_spec, no_show, OBJECT, ONE, "noShow", 0, .of = &schema_policy_no_show,
      .def = "{}", .doc = "Defaults for bookings that leave the field unset."),
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
           "Rules for bookings; the policy named default applies.");

/* ---- CapacityWindow ---- */

static const char *const window_values[] = {"Maintenance", "Added", "Blackout", NULL};

static const struct field window_spec_fields[] = {
    M(capacity_window_spec, start_ns, TIME, ONE, "start", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Start in UTC."),
    M(capacity_window_spec, end_ns, TIME, ONE, "end", 0,
      .doc = "End in UTC; absent for added capacity: permanent."),
    M(capacity_window_spec, type, STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED,
      .values = window_values,
      .doc = "Maintenance: capacity is missing; Added: capacity is added; Blackout: capacity "
             "cannot be booked."),
    M(capacity_window_spec, nodes, STRING, LIST, "nodes", 0, .flags = FIELD_F_ATOMIC, .max = 1024,
      .doc = "Names of whole nodes."),
    M(capacity_window_spec, flavor, STRING, ONE, "flavor", 0, .max = 253,
      .format = "dns1123-subdomain",
      .doc = "ResourceFlavor whose units are affected, instead of nodes."),
    M(capacity_window_spec, resource, STRING, ONE, "resource", 0, .max = 253, .format = "label-key",
      .doc = "Affected units."),
    M(capacity_window_spec, count, INT32, ONE, "count", 0, .flags = FIELD_F_OPT, .min = 1,
      .max = 65536, .doc = "Number of units; absent: all."),
    M(capacity_window_spec, reason, STRING, ONE, "reason", 0, .max = 1024,
      .doc = "Reason, visible to everybody."),
    M(capacity_window_spec, force, BOOL, ONE, "force", 0,
      .doc = "Whether conflicting bookings lose their place, lowest class and latest first."),
};
static const struct schema schema_window_spec =
    SCHEMA("dev.berth.v1alpha1.CapacityWindowSpec", window_spec_fields,
           sizeof(struct capacity_window_spec), NULL);

static const struct field window_conflict_fields[] = {
    M(capacity_conflict, namespace, STRING, ONE, "namespace", 0,
      .doc = "Namespace of the Reservation."),
    M(capacity_conflict, name, STRING, ONE, "name", 0, .doc = "The Reservation."),
    M(capacity_conflict, start_ns, TIME, ONE, "start", 0, .doc = "Start."),
    M(capacity_conflict, end_ns, TIME, ONE, "end", 0, .doc = "End."),
    M(capacity_conflict, text, STRING, ONE, "text", 0,
      .doc = "Human-readable summary of what is booked."),
};
static const struct schema schema_window_conflict =
    SCHEMA("dev.berth.v1alpha1.CapacityConflict", window_conflict_fields,
           sizeof(struct capacity_conflict), "A conflicting booking.");

static const struct field window_status_fields[] = {
    M(capacity_window_status, conflicts, OBJECT, LIST, "conflicts", 0,
      .of = &schema_window_conflict, .flags = FIELD_F_ATOMIC,
      .doc = "Conflicting bookings; the list is cut when there are many."),
    M(capacity_window_status, applied, BOOL, ONE, "applied", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether the window is in effect; not while bookings conflict, unless forced."),
    M(capacity_window_status, message, STRING, ONE, "message", 0,
      .doc = "Why the window is not in effect."),
    M(capacity_window_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "Generation of the spec that was last processed."),
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
      .doc = "IANA time zone of the recurrence."),
    M(reservation_series_spec, start, STRING, ONE, "start", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 32, .doc = "First start, as local time: 2026-11-23T09:00:00."),
    M(reservation_series_spec, duration_ns, DURATION, ONE, "duration", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Duration of each occurrence, such as 4h, also across clock changes."),
    M(reservation_series_spec, rrule, STRING, ONE, "rrule", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 512, .doc = "Recurrence rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10."),
    M(reservation_series_spec, exdates, STRING, LIST, "exdates", 0, .flags = FIELD_F_ATOMIC,
      .max = 366, .doc = "Local start times to leave out."),
    M(reservation_series_spec, conflict_policy, STRING, ONE, "conflictPolicy", 0,
      .def = "\"Reject\"", .values = conflict_values,
      .doc = "When an occurrence does not fit. Reject: create none; Skip: leave it out; Waitlist: "
             "put it on the waitlist."),
    M(reservation_series_spec, max_conflicts, INT32, ONE, "maxConflicts", 0, .min = 0, .max = 366,
      .doc = "Maximum number of occurrences skipped or waitlisted; 0: any number."),
    M(reservation_series_spec, template, OBJECT, ONE, "template", 0,
      .of = &schema_reservation_template, .flags = FIELD_F_REQUIRED,
      .doc = "Spec of each occurrence."),
};
static const struct schema schema_series_spec =
    SCHEMA("dev.berth.v1alpha1.ReservationSeriesSpec", series_spec_fields,
           sizeof(struct reservation_series_spec), NULL);

static const struct field occurrence_fields[] = {
    M(series_occurrence, recurrence_id, STRING, ONE, "recurrenceId", 0, .doc = "Local start."),
    M(series_occurrence, reservation, STRING, ONE, "reservation", 0,
      .doc = "Name of the occurrence's Reservation."),
    M(series_occurrence, start_ns, TIME, ONE, "start", 0, .doc = "Start."),
    M(series_occurrence, end_ns, TIME, ONE, "end", 0, .doc = "End."),
    M(series_occurrence, phase, STRING, ONE, "phase", 0, .doc = "Phase of the Reservation."),
};
static const struct schema schema_occurrence =
    SCHEMA("dev.berth.v1alpha1.SeriesOccurrence", occurrence_fields,
           sizeof(struct series_occurrence), "An occurrence of the series.");

static const struct field skip_fields[] = {
    M(series_skip, recurrence_id, STRING, ONE, "recurrenceId", 0, .doc = "Local start."),
    M(series_skip, start_ns, TIME, ONE, "start", 0, .doc = "Start."),
    M(series_skip, end_ns, TIME, ONE, "end", 0, .doc = "End."),
    M(series_skip, reason, STRING, ONE, "reason", 0, .doc = "Machine-readable reason."),
    M(series_skip, message, STRING, ONE, "message", 0, .doc = "Human-readable message."),
};
static const struct schema schema_skip =
    SCHEMA("dev.berth.v1alpha1.SeriesSkip", skip_fields, sizeof(struct series_skip),
           "An occurrence that was not created.");

static const struct field series_status_fields[] = {
    M(reservation_series_status, occurrences, OBJECT, LIST, "occurrences", 0,
      .of = &schema_occurrence, .flags = FIELD_F_ATOMIC, .doc = "Occurrences that were created."),
    M(reservation_series_status, skipped, OBJECT, LIST, "skipped", 0, .of = &schema_skip,
      .flags = FIELD_F_ATOMIC, .doc = "Occurrences that were not created, and why."),
    M(reservation_series_status, horizon_ns, TIME, ONE, "horizon", 0,
      .doc = "Time up to which occurrences have been created."),
    M(reservation_series_status, tzdata, STRING, ONE, "tzdata", 0,
      .doc = "Version of the time zone data used."),
    M(reservation_series_status, message, STRING, ONE, "message", 0,
      .doc = "Human-readable message."),
    M(reservation_series_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "Generation of the spec that was last processed."),
    M(reservation_series_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
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
           "A recurring booking.");

/* ---- CalendarFeed ---- */

static const char *const scope_values[] = {"own", "project", "resource", "freebusy", NULL};

static const struct field feed_spec_fields[] = {
    M(calendar_feed_spec, scope, STRING, ONE, "scope", 0, .def = "\"own\"", .values = scope_values,
      .doc = "own: bookings of the feed's creator; project: of this namespace; resource, freebusy: "
             "busy times without owners."),
    M(calendar_feed_spec, resource, STRING, ONE, "resource", 0, .max = 253, .format = "label-key",
      .doc = "Resource, for scope resource."),
    M(calendar_feed_spec, revision, INT64, ONE, "revision", 0, .min = 0, .max = 1000000000,
      .doc = "Changing this number gives the feed a new address and invalidates the old one."),
};
static const struct schema schema_feed_spec =
    SCHEMA("dev.berth.v1alpha1.CalendarFeedSpec", feed_spec_fields,
           sizeof(struct calendar_feed_spec), NULL);

static const struct field feed_status_fields[] = {
    M(calendar_feed_status, path, STRING, ONE, "path", 0,
      .doc = "Secret address of the feed; everyone who has it can read the feed."),
    M(calendar_feed_status, user, STRING, ONE, "user", 0, .doc = "Creator of the feed."),
    M(calendar_feed_status, message, STRING, ONE, "message", 0, .doc = "Why the feed has no path."),
    M(calendar_feed_status, revision, INT64, ONE, "revision", 0,
      .doc = "Value of spec.revision for which the path was made."),
    M(calendar_feed_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
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
      .min = 1, .max = 253, .doc = "Display name of the resource."),
    M(hardware_identifier, identifier, STRING, ONE, "identifier", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 253, .doc = "The resource: cpu, memory, nvidia.com/gpu, ..."),
    M(hardware_identifier, min_count, INT_OR_STRING, ONE, "minCount", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Minimum."),
    M(hardware_identifier, default_count, INT_OR_STRING, ONE, "defaultCount", 0,
      .flags = FIELD_F_REQUIRED, .doc = "Default."),
    M(hardware_identifier, max_count, INT_OR_STRING, ONE, "maxCount", 0,
      .doc = "Maximum; absent: no maximum."),
    M(hardware_identifier, resource_type, STRING, ONE, "resourceType", 0, .values = resource_values,
      .doc = "CPU, Memory or Accelerator."),
};
static const struct schema schema_identifier =
    SCHEMA("io.opendatahub.infrastructure.v1.HardwareIdentifier", identifier_fields,
           sizeof(struct hardware_identifier), "Range of a resource.");

static const struct field kueue_fields[] = {
    M(hardware_kueue, local_queue_name, STRING, ONE, "localQueueName", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 253, .doc = "LocalQueue to which work is submitted."),
    M(hardware_kueue, priority_class, STRING, ONE, "priorityClass", 0, .max = 253,
      .doc = "WorkloadPriorityClass of that work."),
};
static const struct schema schema_hardware_kueue =
    SCHEMA("io.opendatahub.infrastructure.v1.KueueScheduling", kueue_fields,
           sizeof(struct hardware_kueue), "Scheduling by a queue.");

static const struct field hardware_node_fields[] = {
    M(hardware_node, node_selector, STRING, MAP, "nodeSelector", 0,
      .doc = "Labels that the node must have."),
    M(hardware_node, tolerations, OBJECT, LIST, "tolerations", 0, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .doc = "Tolerations."),
};
static const struct schema schema_hardware_node =
    SCHEMA("io.opendatahub.infrastructure.v1.NodeScheduling", hardware_node_fields,
           sizeof(struct hardware_node), "Scheduling by node labels.");

static const struct field scheduling_fields[] = {
    M(hardware_scheduling, type, STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED,
      .values = type_values, .doc = "Queue (needs kueue) or Node (needs node)."),
    M(hardware_scheduling, kueue, OBJECT, ONE, "kueue", 0, .of = &schema_hardware_kueue,
      .flags = FIELD_F_OPT, .doc = "Scheduling by a queue."),
    M(hardware_scheduling, node, OBJECT, ONE, "node", 0, .of = &schema_hardware_node,
      .flags = FIELD_F_OPT, .doc = "Scheduling by node labels."),
};
static const struct schema schema_scheduling_spec =
    SCHEMA("io.opendatahub.infrastructure.v1.SchedulingSpec", scheduling_fields,
           sizeof(struct hardware_scheduling), "How work is scheduled.");

static const struct field profile_spec_fields[] = {
    M(hardware_profile_spec, identifiers, OBJECT, LIST, "identifiers", 0, .of = &schema_identifier,
      .flags = FIELD_F_ATOMIC, .max = 64, .doc = "Resources with their ranges."),
    M(hardware_profile_spec, scheduling, OBJECT, ONE, "scheduling", 0,
      .of = &schema_scheduling_spec, .flags = FIELD_F_OPT, .doc = "How work is scheduled."),
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
           sizeof(struct hardware_profile), "A hardware option for notebooks and model servers.");

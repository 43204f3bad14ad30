/* table_reservation: the fields of Reservation and ReservationCheck (group berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_reservation.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")
#define DOC_META "Standard object metadata."

/* ---- spec ---- */

static const char *const beneficiary_values[] = {"User", "Group", NULL};
static const char *const class_values[] = {"standard", "production", "teaching", "maintenance",
                                           NULL};
static const char *const end_values[] = {"demote", "drain", "hard", NULL};
static const char *const no_show_values[] = {"warn", "release", NULL};
static const char *const decision_values[] = {"approve", "reject", NULL};

static const struct field line_fields[] = {
    M(reservation_line, resource, STRING, ONE, "resource", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 253, .format = "label-key",
      .doc = "What is booked: nvidia.com/gpu, or a slice such as nvidia.com/mig-2g.35gb."),
    M(reservation_line, count, INT32, ONE, "count", 0, .flags = FIELD_F_KEEP_EMPTY, .def = "1",
      .min = 1, .max = 4096, .doc = "Number of units."),
    M(reservation_line, flavor, STRING, ONE, "flavor", 0, .max = 253, .format = "dns1123-subdomain",
      .doc = "ResourceFlavor (GPU type); unset: any flavor is acceptable."),
    M(reservation_line, any_of, STRING, LIST, "anyOf", 0, .max = 16,
      .doc = "Acceptable ResourceFlavors, most preferred first. Excludes flavor."),
    M(reservation_line, same_node, BOOL, ONE, "sameNode", 0,
      .doc = "Whether all units of this line must be on one node."),
};
const struct schema schema_reservation_line =
    SCHEMA("dev.berth.v1alpha1.ReservationLine", line_fields, sizeof(struct reservation_line),
           "Units of one resource.");

static const struct field beneficiary_fields[] = {
    M(reservation_beneficiary, kind, STRING, ONE, "kind", 0, .def = "\"User\"",
      .values = beneficiary_values, .doc = "User or Group."),
    M(reservation_beneficiary, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 253, .doc = "Name of the user or group."),
};
static const struct schema schema_beneficiary =
    SCHEMA("dev.berth.v1alpha1.ReservationBeneficiary", beneficiary_fields,
           sizeof(struct reservation_beneficiary), "User or group for whom the booking is made.");

static const struct field no_show_fields[] = {
    M(reservation_no_show, after_ns, DURATION, ONE, "after", 0,
      .doc = "Idle time after which a booking counts as a no-show, such as 30m."),
    M(reservation_no_show, action, STRING, ONE, "action", 0, .values = no_show_values,
      .doc = "warn: emit one Event; release: end the booking."),
};
static const struct schema schema_reservation_no_show =
    SCHEMA("dev.berth.v1alpha1.ReservationNoShow", no_show_fields,
           sizeof(struct reservation_no_show), "What happens to a booking that is not used.");

static const struct field auto_extend_fields[] = {
    M(reservation_auto_extend, max_ns, DURATION, ONE, "max", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Maximum extension beyond the end, in steps of 30m, while the place is free."),
};
static const struct schema schema_auto_extend =
    SCHEMA("dev.berth.v1alpha1.ReservationAutoExtend", auto_extend_fields,
           sizeof(struct reservation_auto_extend), "Automatic extension while work runs and the "
                                                   "place is free.");

static const struct field flexible_fields[] = {
    M(reservation_flexible, earliest_ns, TIME, ONE, "earliest", 0,
      .doc = "Earliest acceptable start; absent: start."),
    M(reservation_flexible, latest_ns, TIME, ONE, "latest", 0,
      .doc = "Latest acceptable end; absent: end."),
    M(reservation_flexible, min_duration_ns, DURATION, ONE, "minDuration", 0,
      .doc = "Minimum duration; absent: the time from start to end."),
};
static const struct schema schema_flexible =
    SCHEMA("dev.berth.v1alpha1.ReservationFlexible", flexible_fields,
           sizeof(struct reservation_flexible), "Other acceptable times.");

static const struct field approval_fields[] = {
    M(reservation_approval, decision, STRING, ONE, "decision", 0, .flags = FIELD_F_REQUIRED,
      .values = decision_values, .doc = "approve or reject."),
    M(reservation_approval, reason, STRING, ONE, "reason", 0, .max = 1024,
      .doc = "Reason; required to reject."),
};
static const struct schema schema_approval =
    SCHEMA("dev.berth.v1alpha1.ReservationApproval", approval_fields,
           sizeof(struct reservation_approval), "Decision of an approver.");

static const struct field cancel_fields[] = {
    M(reservation_cancel, reason, STRING, ONE, "reason", 0, .max = 1024,
      .doc = "Reason; required to cancel somebody else's booking."),
};
static const struct schema schema_cancel =
    SCHEMA("dev.berth.v1alpha1.ReservationCancel", cancel_fields, sizeof(struct reservation_cancel),
           "Cancellation of a booking.");

/* The spec of a Reservation, of a check, and of a template, which has no times. */
#define TIMES(flags_)                                                                              \
    M(reservation_spec, start_ns, TIME, ONE, "start", 0, .flags = flags_,                          \
      .doc = "Start in UTC, on the policy's grid."),                                               \
        M(reservation_spec, end_ns, TIME, ONE, "end", 0, .flags = flags_,                          \
          .doc = "End, exclusive.")
#define WANTS                                                                                      \
    M(reservation_spec, time_zone, STRING, ONE, "timeZone", 0, .def = "\"UTC\"", .max = 64,        \
      .doc = "IANA time zone for display, such as Europe/Warsaw."),                                \
        M(reservation_spec, lines, OBJECT, LIST, "lines", 0, .of = &schema_reservation_line,       \
          .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = RESERVATION_LINES,          \
          .doc = "Booked resources; all lines are granted, or none."),                             \
        M(reservation_spec, beneficiary, OBJECT, ONE, "beneficiary", 0, .of = &schema_beneficiary, \
          .flags = FIELD_F_OPT,                                                                    \
      .doc = "User or group for whom the booking is made; absent: its creator."),                  \
        M(reservation_spec, purpose, STRING, ONE, "purpose", 0, .max = 160,                        \
          .doc = "Purpose; visible to everyone who may see the booking."),                         \
        M(reservation_spec, class_name, STRING, ONE, "class", 0, .def = "\"standard\"",            \
          .values = class_values, .doc = "standard, production, teaching or maintenance."),        \
        M(reservation_spec, exclusive, BOOL, ONE, "exclusive", 0,                                  \
          .doc = "Whether the units stay unused by others even while idle."),                      \
        M(reservation_spec, end_policy, STRING, ONE, "endPolicy", 0, .def = "\"demote\"",          \
          .values = end_values,                                                                    \
          .doc = "At the end, demote: work stays until somebody needs the place; drain: it is "    \
                 "stopped with its grace period; hard: it has stopped by then."),                  \
        M(reservation_spec, no_show, OBJECT, ONE, "noShow", 0, .of = &schema_reservation_no_show,  \
          .flags = FIELD_F_OPT, .doc = "No-show handling; absent: as in the policy."),             \
        M(reservation_spec, auto_extend, OBJECT, ONE, "autoExtend", 0, .of = &schema_auto_extend,  \
          .flags = FIELD_F_OPT, .doc = "Automatic extension while work runs."),                    \
        M(reservation_spec, flexible, OBJECT, ONE, "flexible", 0, .of = &schema_flexible,          \
          .flags = FIELD_F_OPT, .doc = "Other acceptable times."),                                 \
        M(reservation_spec, waitlist, BOOL, ONE, "waitlist", 0,                                    \
          .doc = "Whether to join the waitlist when the booking does not fit."),                   \
        M(reservation_spec, confirm_offer, BOOL, ONE, "confirmOffer", 0,                           \
          .doc = "Whether a freed place is offered for claiming, instead of granted at once.")
#define DEEDS                                                                                      \
    M(reservation_spec, approval, OBJECT, ONE, "approval", 0, .of = &schema_approval,              \
      .flags = FIELD_F_OPT, .doc = "Decision of an approver."),                                    \
        M(reservation_spec, claim, BOOL, ONE, "claim", 0,                                          \
      .doc = "Whether the offer is accepted."),                                                    \
        M(reservation_spec, cancel, OBJECT, ONE, "cancel", 0, .of = &schema_cancel,                \
          .flags = FIELD_F_OPT, .doc = "Cancels the booking; irreversible."),                      \
        M(reservation_spec, series_name, STRING, ONE, "seriesName", 0, .max = 253,                 \
          .format = "dns1123-subdomain", .flags = FIELD_F_IMMUTABLE,                               \
          .doc = "The ReservationSeries it belongs to."),                                          \
        M(reservation_spec, recurrence_id, STRING, ONE, "recurrenceId", 0, .max = 64,              \
          .flags = FIELD_F_IMMUTABLE, .doc = "Occurrence of the series, as local start time.")

static const struct field spec_fields[] = {TIMES(FIELD_F_REQUIRED), WANTS, DEEDS};
const struct schema schema_reservation_spec = SCHEMA(
    "dev.berth.v1alpha1.ReservationSpec", spec_fields, sizeof(struct reservation_spec), NULL);

static const struct field template_fields[] = {WANTS};
const struct schema schema_reservation_template =
    SCHEMA("dev.berth.v1alpha1.ReservationTemplate", template_fields,
           sizeof(struct reservation_spec), "A Reservation's spec without start and end.");

static const struct field check_spec_fields[] = {
    M(reservation_spec, name, STRING, ONE, "name", 0, .max = 253, .format = "dns1123-subdomain",
      .doc = "Name of the Reservation that would be changed; absent: a new one is previewed."),
    TIMES(FIELD_F_REQUIRED), WANTS, DEEDS};
static const struct schema schema_check_spec =
    SCHEMA("dev.berth.v1alpha1.ReservationCheckSpec", check_spec_fields,
           sizeof(struct reservation_spec), NULL);

/* ---- status ---- */

static const char *const phase_values[] = {
    "PendingApproval", "Waitlisted", "Offered",  "Confirmed", "Preparing", "Active",  "Degraded",
    "Ending",          "Ended",      "Rejected", "Cancelled", "Released",  "Expired", NULL};

static const struct field place_fields[] = {
    M(reservation_place, line, INT32, ONE, "line", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Index in spec.lines, from 0."),
    M(reservation_place, resource, STRING, ONE, "resource", 0, .doc = "The resource of that line."),
    M(reservation_place, flavor, STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    M(reservation_place, node, STRING, ONE, "node", 0,
      .doc = "Name of the node; absent when another scheduler places the pods."),
    M(reservation_place, gpu, STRING, ONE, "gpu", 0, .doc = "UUID of the GPU."),
    M(reservation_place, gpu_index, INT32, ONE, "gpuIndex", 0, .flags = FIELD_F_OPT,
      .doc = "Index of the GPU on its node."),
    M(reservation_place, profile, STRING, ONE, "profile", 0,
      .doc = "MIG profile, such as 2g.35gb; absent: the whole GPU."),
    M(reservation_place, start, INT32, ONE, "start", 0, .flags = FIELD_F_OPT,
      .doc = "First memory slice."),
    M(reservation_place, size, INT32, ONE, "size", 0, .doc = "Memory slices."),
    M(reservation_place, count, INT32, ONE, "count", 0, .doc = "Units; absent: one."),
};
const struct schema schema_reservation_place =
    SCHEMA("dev.berth.v1alpha1.ReservationPlace", place_fields, sizeof(struct reservation_place),
           "Place of one unit.");

static const struct field alternative_fields[] = {
    M(reservation_alternative, kind, STRING, ONE, "kind", 0,
      .doc =
          "Earlier, Later, OtherFlavor, Larger, Smaller, Fewer, Shorter, Longer, Split, AskLater "
          "or Queue."),
    M(reservation_alternative, start_ns, TIME, ONE, "start", 0, .doc = "Start of the alternative."),
    M(reservation_alternative, end_ns, TIME, ONE, "end", 0, .doc = "End of the alternative."),
    M(reservation_alternative, lines, OBJECT, LIST, "lines", 0, .of = &schema_reservation_line,
      .flags = FIELD_F_ATOMIC, .doc = "Lines of the alternative."),
    M(reservation_alternative, text, STRING, ONE, "text", 0,
      .doc = "Human-readable description of the alternative."),
};
static const struct schema schema_alternative =
    SCHEMA("dev.berth.v1alpha1.ReservationAlternative", alternative_fields,
           sizeof(struct reservation_alternative), "An alternative that would fit.");

static const struct field refusal_fields[] = {
    M(reservation_refusal, limit, STRING, ONE, "limit", 0,
      .doc = "Name of the limit: capacity, concurrentUnits, maxDuration, daysAhead, ..."),
    M(reservation_refusal, scope, STRING, ONE, "scope", 0,
      .doc = "Scope of the limit: user, project, tenant; absent: everybody."),
    M(reservation_refusal, allowed, STRING, ONE, "allowed", 0, .doc = "Value of the limit."),
    M(reservation_refusal, asked, STRING, ONE, "asked", 0, .doc = "Requested value."),
    M(reservation_refusal, text, STRING, ONE, "text", 0,
      .doc = "Human-readable description of the alternative."),
};
static const struct schema schema_refusal =
    SCHEMA("dev.berth.v1alpha1.ReservationRefusal", refusal_fields,
           sizeof(struct reservation_refusal), "A limit that the booking exceeds.");

static const struct field conflict_fields[] = {
    M(reservation_conflict, start_ns, TIME, ONE, "start", 0, .doc = "From when."),
    M(reservation_conflict, end_ns, TIME, ONE, "end", 0, .doc = "Until when."),
    M(reservation_conflict, flavor, STRING, ONE, "flavor", 0, .doc = "Places of the units."),
    M(reservation_conflict, resource, STRING, ONE, "resource", 0, .doc = "Resource that is short."),
    M(reservation_conflict, count, INT64, ONE, "count", 0, .doc = "Units booked by others."),
    M(reservation_conflict, text, STRING, ONE, "text", 0,
      .doc = "Human-readable description of the alternative."),
};
static const struct schema schema_conflict =
    SCHEMA("dev.berth.v1alpha1.ReservationConflict", conflict_fields,
           sizeof(struct reservation_conflict), "Conflicting bookings, without their owners.");

static const struct field cost_fields[] = {
    M(reservation_cost, quoted, STRING, ONE, "quoted", 0,
      .doc = "GPU hours that the booking would consume."),
    M(reservation_cost, committed, STRING, ONE, "committed", 0,
      .doc = "GPU hours consumed so far."),
    M(reservation_cost, charged, STRING, ONE, "charged", 0,
      .doc = "GPU hours consumed at the end of the booking."),
};
static const struct schema schema_cost =
    SCHEMA("dev.berth.v1alpha1.ReservationCost", cost_fields, sizeof(struct reservation_cost),
           "Cost in GPU hours (decimal); a slice counts by its share of the GPU's memory.");

static const struct field waitlist_fields[] = {
    M(reservation_waitlist, position, INT32, ONE, "position", 0, .doc = "From 1."),
    M(reservation_waitlist, since_ns, TIME, ONE, "since", 0,
      .doc = "Time at which the booking joined the waitlist."),
};
static const struct schema schema_waitlist =
    SCHEMA("dev.berth.v1alpha1.ReservationWaitlist", waitlist_fields,
           sizeof(struct reservation_waitlist), "Position on the waitlist.");

static const struct field event_fields[] = {
    M(reservation_event, type, STRING, ONE, "type", 0,
      .doc = "Prepare, Start, Warn, NoShow, Extend, End, Gone, ApprovalExpires, OfferExpires."),
    M(reservation_event, at_ns, TIME, ONE, "at", 0, .doc = "Time of the transition."),
};
static const struct schema schema_next_event =
    SCHEMA("dev.berth.v1alpha1.ReservationEvent", event_fields, sizeof(struct reservation_event),
           "The next transition of the booking.");

static const struct field objects_fields[] = {
    M(reservation_objects, cluster_queue, STRING, ONE, "clusterQueue", 0, .doc = "ClusterQueue."),
    M(reservation_objects, local_queue, STRING, ONE, "localQueue", 0,
      .doc = "LocalQueue in the project: work is sent here."),
    M(reservation_objects, hardware_profiles, STRING, LIST, "hardwareProfiles", 0,
      .flags = FIELD_F_ATOMIC, .doc = "HardwareProfiles in the project."),
    M(reservation_objects, ready, BOOL, ONE, "ready", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether all objects exist and have their quota."),
    M(reservation_objects, drained, BOOL, ONE, "drained", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether no workload runs or waits in the queue any more."),
    M(reservation_objects, message, STRING, ONE, "message", 0, .doc = "Objects that are missing."),
};
static const struct schema schema_objects =
    SCHEMA("dev.berth.v1alpha1.ReservationObjects", objects_fields,
           sizeof(struct reservation_objects), "Objects created for the booking.");

static const struct field status_fields[] = {
    M(reservation_status, phase, STRING, ONE, "phase", 0, .values = phase_values,
      .doc = "Phase of the booking."),
    M(reservation_status, reason, STRING, ONE, "reason", 0, .doc = "Machine-readable reason."),
    M(reservation_status, message, STRING, ONE, "message", 0, .doc = "Human-readable message."),
    M(reservation_status, start_ns, TIME, ONE, "start", 0, .doc = "Granted start."),
    M(reservation_status, end_ns, TIME, ONE, "end", 0, .doc = "Granted end."),
    M(reservation_status, plan, OBJECT, LIST, "plan", 0, .of = &schema_reservation_place,
      .flags = FIELD_F_ATOMIC, .doc = "Places of the units; may change until the start."),
    M(reservation_status, alternatives, OBJECT, LIST, "alternatives", 0, .of = &schema_alternative,
      .flags = FIELD_F_ATOMIC, .doc = "Alternatives, when the booking does not fit."),
    M(reservation_status, refusals, OBJECT, LIST, "refusals", 0, .of = &schema_refusal,
      .flags = FIELD_F_ATOMIC, .doc = "Limits that the booking exceeds."),
    M(reservation_status, conflicts, OBJECT, LIST, "conflicts", 0, .of = &schema_conflict,
      .flags = FIELD_F_ATOMIC, .doc = "Conflicting bookings in its time."),
    M(reservation_status, cost, OBJECT, ONE, "cost", 0, .of = &schema_cost, .flags = FIELD_F_OPT,
      .doc = "Cost of the booking."),
    M(reservation_status, waitlist, OBJECT, ONE, "waitlist", 0, .of = &schema_waitlist,
      .flags = FIELD_F_OPT, .doc = "Waitlist position, while waiting."),
    M(reservation_status, next_event, OBJECT, ONE, "nextEvent", 0, .of = &schema_next_event,
      .flags = FIELD_F_OPT, .doc = "The next transition of the booking."),
    M(reservation_status, sequence, INT64, ONE, "sequence", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Revision for calendar programs; incremented by each change of the times."),
    M(reservation_status, observed_generation, INT64, ONE, "observedGeneration", 0,
      .doc = "Generation of the spec that was last processed."),
    M(reservation_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
    M(reservation_status, decided_ns, TIME, ONE, "decidedAt", 0,
      .doc = "Time at which the booking was confirmed."),
    M(reservation_status, deadline_ns, TIME, ONE, "deadline", 0,
      .doc = "Deadline for approval or for claiming an offer."),
    M(reservation_status, active_ns, TIME, ONE, "activeAt", 0, .doc = "Time of activation."),
    M(reservation_status, ended_ns, TIME, ONE, "endedAt", 0,
      .doc = "Time at which the booking ended."),
    M(reservation_status, used_ns, TIME, ONE, "usedAt", 0,
      .doc = "Time at which work was last seen running."),
    M(reservation_status, warned_ns, DURATION, ONE, "warned", 0,
      .doc = "Last warning before the end, as the time that was left."),
    M(reservation_status, extended_ns, DURATION, ONE, "extended", 0,
      .doc = "Total time added by autoExtend."),
    M(reservation_status, lost_ns, DURATION, ONE, "lost", 0,
      .doc = "Time during which booked units were not available; not charged."),
    M(reservation_status, objects, OBJECT, ONE, "objects", 0, .of = &schema_objects,
      .flags = FIELD_F_OPT, .doc = "Objects created for the booking."),
};
const struct schema schema_reservation_status = SCHEMA(
    "dev.berth.v1alpha1.ReservationStatus", status_fields, sizeof(struct reservation_status), NULL);

static const struct field reservation_fields[] = {
    API_VERSION,
    KIND,
    M(reservation, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = DOC_META),
    M(reservation, spec, OBJECT, ONE, "spec", 0, .of = &schema_reservation_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    M(reservation, status, OBJECT, ONE, "status", 0, .of = &schema_reservation_status,
      .doc = "Decision and progress, set by controllers."),
};
const struct schema schema_reservation =
    SCHEMA("dev.berth.v1alpha1.Reservation", reservation_fields, sizeof(struct reservation),
           "A booking of GPUs or MIG slices for a time.");

/* ---- ReservationCheck ---- */

static const struct field check_status_fields[] = {
    M(reservation_check_status, fits, BOOL, ONE, "fits", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether the booking would be confirmed."),
    M(reservation_check_status, phase, STRING, ONE, "phase", 0,
      .doc = "Phase that the booking would have."),
    M(reservation_check_status, reason, STRING, ONE, "reason", 0,
      .doc = "Machine-readable reason."),
    M(reservation_check_status, message, STRING, ONE, "message", 0,
      .doc = "Human-readable message."),
    M(reservation_check_status, start_ns, TIME, ONE, "start", 0,
      .doc = "Start of the alternative."),
    M(reservation_check_status, end_ns, TIME, ONE, "end", 0, .doc = "End of the alternative."),
    M(reservation_check_status, refusals, OBJECT, LIST, "refusals", 0, .of = &schema_refusal,
      .doc = "Limits that the booking would exceed."),
    M(reservation_check_status, alternatives, OBJECT, LIST, "alternatives", 0,
      .of = &schema_alternative,
      .doc = "An alternative that would fit."),
    M(reservation_check_status, conflicts, OBJECT, LIST, "conflicts", 0, .of = &schema_conflict,
      .doc = "Conflicting bookings."),
    M(reservation_check_status, cost, OBJECT, ONE, "cost", 0, .of = &schema_cost,
      .doc = "Cost of the booking."),
    M(reservation_check_status, plan, OBJECT, LIST, "plan", 0, .of = &schema_reservation_place,
      .doc = "Places of the units."),
    M(reservation_check_status, objects, ANY, LIST, "objects", 0,
      .doc = "Objects that would be created: the Reservation and its queues."),
};
static const struct schema schema_check_status =
    SCHEMA("dev.berth.v1alpha1.ReservationCheckStatus", check_status_fields,
           sizeof(struct reservation_check_status), NULL);

static const struct field check_fields[] = {
    API_VERSION,
    KIND,
    M(reservation, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = DOC_META),
    M(reservation, spec, OBJECT, ONE, "spec", 0, .of = &schema_check_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "The booking."),
    F(OBJECT, ONE, "status", 0, .of = &schema_check_status, .doc = "Result of the check."),
};
const struct schema schema_reservation_check =
    SCHEMA("dev.berth.v1alpha1.ReservationCheck", check_fields, sizeof(struct reservation),
           "Preview of a booking; nothing is written.");

/* The same as it is answered. */
static const struct field answer_fields[] = {
    M(reservation_answer, metadata, ANY, ONE, "metadata", 0),
    M(reservation_answer, spec, ANY, ONE, "spec", 0),
    M(reservation_answer, status, OBJECT, ONE, "status", 0, .of = &schema_check_status),
};
const struct schema schema_reservation_answer =
    SCHEMA("dev.berth.v1alpha1.ReservationAnswer", answer_fields,
           sizeof(struct reservation_answer), NULL);

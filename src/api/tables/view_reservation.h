/*
 * view_reservation: the C views of bookings: Reservation, ReservationPolicy, CapacityWindow, ReservationSeries,
 * CalendarFeed (berth.dev/v1alpha1) and HardwareProfile (infrastructure.opendatahub.io/v1).
 *
 * Times end in _ns (since 1970, 0 when absent), so do durations. Intervals are half-open. A ReservationCheck is read by
 * the views of a Reservation. Fleet and FleetHistory are in view_fleet.h.
 */
#ifndef BERTH_API_VIEW_RESERVATION_H
#define BERTH_API_VIEW_RESERVATION_H

#include "api/tables/view_core.h"

/* Who asked for it: set when it is made, never changed. */
#define RESERVATION_USER_ANNOTATION "berth.dev/requested-by"
/* On what is made for a booking: the Reservation's name. */
#define RESERVATION_LABEL "berth.dev/reservation"
#define RESERVATION_POLICY_NAME "default" /* the ReservationPolicy that counts */

enum { RESERVATION_LINES = 16, RESERVATION_ALTERNATIVES = 5 };

struct reservation_line {
    struct str resource; /* "nvidia.com/gpu", "nvidia.com/mig-2g.35gb" */
    int32_t count;
    struct str flavor;      /* empty: any of any_of, or any at all */
    struct str_list any_of; /* ResourceFlavors, best first */
    bool same_node;         /* all units on one node */
};
struct reservation_line_list {
    struct reservation_line *v;
    size_t n;
};
struct reservation_beneficiary {
    struct str kind, name; /* User, Group */
};
struct reservation_no_show {
    int64_t after_ns;
    struct str action; /* warn, release */
};
struct reservation_auto_extend {
    int64_t max_ns;
};
struct reservation_flexible {
    int64_t earliest_ns, latest_ns, min_duration_ns; /* 0: as start, end, the whole length */
};
struct reservation_approval {
    struct str decision, reason; /* approve, reject */
};
struct reservation_cancel {
    struct str reason;
};
struct reservation_spec {
    struct str name; /* of a ReservationCheck: the Reservation that would be changed */
    int64_t start_ns, end_ns;
    struct str time_zone;
    struct reservation_line_list lines;
    struct reservation_beneficiary *beneficiary;
    struct str purpose;
    struct str class_name; /* standard, production, teaching, maintenance */
    bool exclusive;
    struct str end_policy; /* demote, drain, hard */
    struct reservation_no_show *no_show;
    struct reservation_auto_extend *auto_extend;
    struct reservation_flexible *flexible;
    bool waitlist, confirm_offer, claim;
    struct reservation_approval *approval;
    struct reservation_cancel *cancel;
    struct str series_name, recurrence_id;
};

/* One unit of the plan. Where Berth does not place (a cluster), node and gpu are empty. */
struct reservation_place {
    int32_t line; /* index in spec.lines */
    struct str resource, flavor, node, gpu;
    struct opt_i32 gpu_index;
    struct str profile; /* "2g.35gb"; empty: the whole GPU */
    struct opt_i32 start; /* memory slices */
    int32_t size;
    int32_t count; /* units this stands for: 1, or more where Berth does not place; 0 reads as 1 */
};
struct reservation_place_list {
    struct reservation_place *v;
    size_t n;
};
struct reservation_alternative {
    struct str kind; /* Earlier, Later, OtherFlavor, Larger, Smaller, Fewer, Shorter, Longer, Split, AskLater, Queue */
    int64_t start_ns, end_ns;
    struct reservation_line_list lines;
    struct str text;
};
struct reservation_refusal {
    struct str limit, scope, allowed, asked, text;
};
struct reservation_conflict {
    int64_t start_ns, end_ns;
    struct str flavor, resource;
    int64_t count;
    struct str text;
};
struct reservation_cost {
    struct str quoted, committed, charged; /* GPU hours */
};
struct reservation_waitlist {
    int32_t position;
    int64_t since_ns;
};
struct reservation_event {
    struct str type;
    int64_t at_ns;
};
struct reservation_objects {
    struct str cluster_queue, local_queue;
    struct str_list hardware_profiles;
    bool ready, drained;
    struct str message;
};
struct reservation_status {
    struct str phase, reason, message;
    int64_t start_ns, end_ns; /* as granted */
    struct reservation_place_list plan;
    struct {
        struct reservation_alternative *v;
        size_t n;
    } alternatives;
    struct {
        struct reservation_refusal *v;
        size_t n;
    } refusals;
    struct {
        struct reservation_conflict *v;
        size_t n;
    } conflicts;
    struct reservation_cost *cost;
    struct reservation_waitlist *waitlist;
    struct reservation_event *next_event;
    int64_t sequence, observed_generation;
    struct condition_list conditions;
    /* What the state machine must remember over a restart. */
    int64_t decided_ns;  /* when it got its place */
    int64_t deadline_ns; /* of an approval or an offer */
    int64_t active_ns,
        ended_ns;        /* when it became Active or Degraded, when it came to its final phase */
    int64_t used_ns;     /* when an admitted workload was last seen in its queue */
    int64_t warned_ns;   /* the last warning before the end, as time left */
    int64_t extended_ns; /* given beyond spec.end, by autoExtend */
    int64_t lost_ns;     /* time of its window in which it did not have what was booked */
    struct reservation_objects *objects;
};
struct reservation {
    struct meta *metadata;
    struct reservation_spec *spec;
    struct reservation_status *status;
};

/* ReservationCheck: what would come of it, and the objects that would be made. */
struct reservation_check_status {
    bool fits;
    struct str phase, reason, message;
    int64_t start_ns, end_ns;
    struct {
        struct reservation_refusal *v;
        size_t n;
    } refusals;
    struct {
        struct reservation_alternative *v;
        size_t n;
    } alternatives;
    struct {
        struct reservation_conflict *v;
        size_t n;
    } conflicts;
    struct reservation_cost *cost;
    struct reservation_place_list plan;
    struct {
        yyjson_val **v;
        size_t n;
    } objects;
};
struct reservation_answer { /* its metadata and spec as they were asked */
    yyjson_val *metadata, *spec;
    struct reservation_check_status *status;
};

/* ---- Availability ---- */

struct availability_slot {
    int64_t start_ns, end_ns, free, total;
};
struct availability_busy {
    int64_t start_ns, end_ns, count;
    struct str phase, namespace, name, owner, purpose; /* whose it is: empty for who may not see it */
};
struct availability {
    struct meta *metadata;
    struct str flavor, resource, display_name;
    double memory_gib, gpu_share;
    int64_t total;
    struct {
        struct availability_slot *v;
        size_t n;
    } slots;
    struct {
        struct availability_busy *v;
        size_t n;
    } busy;
};

/* ---- ReservationPolicy ---- */

struct reservation_pool {
    struct str cohort;
    struct str_list flavors; /* empty: every flavor of the cohort */
};
struct reservation_amount {
    struct str resource;
    int32_t count;
};
struct reservation_limits {
    struct opt_i32 concurrent_units, future_bookings;
    int64_t max_duration_ns; /* 0: none */
    struct opt_i32 gpu_hours_per_week, gpu_hours_per_month;
};
struct reservation_scopes {
    struct reservation_limits *user, *project, *tenant;
};
struct reservation_match {
    struct str class_name;
    int32_t min_units;
    int64_t min_duration_ns;
    struct str project;
};
struct reservation_rule {
    struct reservation_match *match; /* NULL: everything */
    struct str by;                   /* auto, manager, admin */
};
struct reservation_policy_spec {
    struct reservation_pool *pool;
    struct str time_zone;
    int64_t granularity_ns, min_duration_ns, max_duration_ns;
    int32_t days_ahead;
    int64_t prep_lead_ns;
    struct str geometry; /* dynamic, static */
    int64_t reconfig_time_ns, overstay_ns;
    struct str_list warnings; /* durations before the end, as text */
    struct {
        struct reservation_amount *v;
        size_t n;
    } on_demand_floor;
    struct reservation_scopes *limits;
    struct {
        struct reservation_rule *v;
        size_t n;
    } approval;
    int64_t approval_ttl_ns, offer_window_ns;
    struct reservation_no_show *no_show;
};
struct reservation_policy {
    struct meta *metadata;
    struct reservation_policy_spec *spec;
};

/* ---- CapacityWindow ---- */

struct capacity_window_spec {
    int64_t start_ns, end_ns;
    struct str type; /* Maintenance, Added, Blackout */
    struct str_list nodes;
    struct str flavor, resource;
    struct opt_i32 count;
    struct str reason;
    bool force;
};
struct capacity_conflict {
    struct str namespace, name;
    int64_t start_ns, end_ns;
    struct str text;
};
struct capacity_window_status {
    struct {
        struct capacity_conflict *v;
        size_t n;
    } conflicts;
    bool applied;
    struct str message;
    int64_t observed_generation;
};
struct capacity_window {
    struct meta *metadata;
    struct capacity_window_spec *spec;
    struct capacity_window_status *status;
};

/* ---- ReservationSeries ---- */

struct reservation_series_spec {
    struct str time_zone, start; /* local: "2026-11-23T09:00:00" */
    int64_t duration_ns;
    struct str rrule;
    struct str_list exdates;
    struct str conflict_policy; /* Reject, Skip, Waitlist */
    int32_t max_conflicts;
    struct reservation_spec *template;
};
struct series_occurrence {
    struct str recurrence_id,
        reservation; /* the local time it stands for; the Reservation's name */
    int64_t start_ns, end_ns;
    struct str phase;
};
struct series_skip {
    struct str recurrence_id;
    int64_t start_ns, end_ns;
    struct str reason, message;
};
struct reservation_series_status {
    struct {
        struct series_occurrence *v;
        size_t n;
    } occurrences;
    struct {
        struct series_skip *v;
        size_t n;
    } skipped;
    int64_t horizon_ns;
    struct str tzdata, message;
    int64_t observed_generation;
    struct condition_list conditions;
};
struct reservation_series {
    struct meta *metadata;
    struct reservation_series_spec *spec;
    struct reservation_series_status *status;
};

/* ---- CalendarFeed ---- */

struct calendar_feed_spec {
    struct str scope; /* own, project, resource, freebusy */
    struct str resource;
    int64_t revision;
};
struct calendar_feed_status {
    struct str path, user, message;
    int64_t revision; /* that the path is for */
    struct condition_list conditions;
};
struct calendar_feed {
    struct meta *metadata;
    struct calendar_feed_spec *spec;
    struct calendar_feed_status *status;
};

/* ---- HardwareProfile ---- */

struct hardware_identifier {
    struct str display_name, identifier, min_count, default_count, max_count, resource_type;
};
struct hardware_kueue {
    struct str local_queue_name, priority_class;
};
struct hardware_node {
    struct str_map node_selector;
    struct toleration_list tolerations;
};
struct hardware_scheduling {
    struct str type; /* Queue, Node */
    struct hardware_kueue *kueue;
    struct hardware_node *node;
};
struct hardware_profile_spec {
    struct {
        struct hardware_identifier *v;
        size_t n;
    } identifiers;
    struct hardware_scheduling *scheduling;
};
struct hardware_profile {
    struct meta *metadata;
    struct hardware_profile_spec *spec;
};

extern const struct schema schema_reservation, schema_reservation_policy, schema_capacity_window;
extern const struct schema schema_reservation_series, schema_calendar_feed;
extern const struct schema schema_hardware_profile, schema_reservation_check;
extern const struct schema schema_reservation_answer;
extern const struct schema schema_availability;
/* Parts, for who decodes them alone. */
extern const struct schema schema_reservation_spec, schema_reservation_status;
extern const struct schema schema_reservation_line, schema_reservation_place;
extern const struct schema schema_reservation_policy_spec;
extern const struct schema schema_reservation_template;

#endif

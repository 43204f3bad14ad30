/* kinds_reservation: the rows of what belongs to booking; their rules are in reservation_check.c. */
#include "api/kinds/kinds.h"
#include "api/tables/view_fleet.h"
#include "api/tables/view_reservation.h"

#define COLUMN_STARTED                                                                             \
    {                                                                                              \
        .name = "Age", .type = "date", .path = "metadata.creationTimestamp",                       \
        .doc = "How long ago the object was created."                                              \
    }
#define NAMES(...)                                                                                 \
    (const char *const[]) { __VA_ARGS__, NULL }
#define STORED(kind_, plural_, singular_, flags_, columns_, schema_)                               \
    .group = "berth.dev", .kind = kind_, .plural = plural_, .singular = singular_,                 \
    .flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED | (flags_), .columns = columns_,     \
    .n_columns = COUNT(columns_),                                                                  \
    .versions = &(const struct kind_version){.version = "v1alpha1", .schema = &schema_},           \
    .n_versions = 1
#define COMPUTED(kind_, plural_, singular_, flags_, schema_)                                       \
    .group = "berth.dev", .kind = kind_, .plural = plural_, .singular = singular_,                 \
    .flags = KIND_COMPUTED | (flags_),                                                             \
    .versions = &(const struct kind_version){.version = "v1alpha1", .schema = &schema_},           \
    .n_versions = 1

static const struct column reservation_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Phase", "string", 0, "status.phase", "Phase of the booking."),
    COLUMN_PATH("Start", "string", 0, "spec.start", "Start in UTC."),
    COLUMN_PATH("End", "string", 0, "spec.end", "End in UTC."),
    COLUMN("Booked", "string", 0, "Booked resources."),
    COLUMN_PATH("Reason", "string", 0, "status.reason", "Reason of the phase."),
    COLUMN_PATH("For", "string", 1, "spec.beneficiary.name",
                "User or group for whom the booking "
                "is made."),
    COLUMN_PATH("Class", "string", 1, "spec.class", "Class of the booking."),
    COLUMN_PATH("GPU Hours", "string", 1, "status.cost.committed", "Consumed GPU hours."),
    COLUMN_STARTED,
};
enum { COLUMN_BOOKED = 4 };

/* "2 nvidia.com/mig-2g.35gb, 1 nvidia.com/gpu" */
static void reservation_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    struct buf b;
    yyjson_arr_iter it;
    yyjson_val *line;
    (void)now;
    if (i != COLUMN_BOOKED) {
        buf_c(out, "null");
        return;
    }
    buf_init(&b, 8192);
    yyjson_arr_iter_init(json_path(obj, "spec.lines"), &it);
    while ((line = yyjson_arr_iter_next(&it)) != NULL) {
        struct str resource = json_str_at(line, "resource");
        buf_f(&b, "%s%lld %.*s", b.n > 0 ? ", " : "",
              (long long)yyjson_get_sint(json_get(line, STR("count"))), STR_ARG(resource));
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

const struct kind kind_reservation = {
    STORED("Reservation", "reservations", "reservation", KIND_NAMESPACED | KIND_STATUS,
           reservation_columns, schema_reservation),
    .short_names = NAMES("rsv"),
    .prepare = prepare_status,
    .check = reservation_check,
    .cell = reservation_cell,
};

static const struct column policy_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Cohort", "string", 0, "spec.pool.cohort", "Cohort whose quota can be booked."),
    COLUMN_PATH("Grid", "string", 0, "spec.granularity", "Grid on which bookings start and end."),
    COLUMN_PATH("Longest", "string", 0, "spec.maxDuration", "Maximum duration of a booking."),
    COLUMN_PATH("Days Ahead", "integer", 0, "spec.daysAhead",
                "How far in the future a booking can "
                "start."),
    COLUMN_PATH("Zone", "string", 1, "spec.timeZone", "IANA time zone."),
    COLUMN_STARTED,
};
const struct kind kind_reservation_policy = {
    STORED("ReservationPolicy", "reservationpolicies", "reservationpolicy", 0, policy_columns,
           schema_reservation_policy),
    .short_names = NAMES("rsvpolicy"),
    .check = reservation_policy_check,
};

static const struct column window_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Type", "string", 0, "spec.type", "Maintenance, Added or Blackout."),
    COLUMN_PATH("Start", "string", 0, "spec.start", "Start in UTC."),
    COLUMN_PATH("End", "string", 0, "spec.end", "End in UTC."),
    COLUMN_PATH("Applied", "boolean", 0, "status.applied", "Whether the window is in effect."),
    COLUMN_PATH("Reason", "string", 0, "spec.reason", "Reason."),
    COLUMN_STARTED,
};
const struct kind kind_capacity_window = {
    STORED("CapacityWindow", "capacitywindows", "capacitywindow", KIND_STATUS, window_columns,
           schema_capacity_window),
    .short_names = NAMES("capwin"),
    .prepare = prepare_status,
    .check = capacity_window_check,
};

static const struct column series_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Start", "string", 0, "spec.start", "First start, local time."),
    COLUMN_PATH("Duration", "string", 0, "spec.duration", "Duration of each occurrence."),
    COLUMN_PATH("Recurs", "string", 0, "spec.rrule", "Recurrence rule of RFC 5545."),
    COLUMN_PATH("Zone", "string", 0, "spec.timeZone", "IANA time zone."),
    COLUMN_PATH("Until", "string", 1, "status.horizon",
                "Time up to which occurrences have been "
                "created."),
    COLUMN_STARTED,
};
const struct kind kind_reservation_series = {
    STORED("ReservationSeries", "reservationseries", "reservationseries",
           KIND_NAMESPACED | KIND_STATUS, series_columns, schema_reservation_series),
    .short_names = NAMES("rsvseries"),
    .prepare = prepare_status,
    .check = reservation_series_check,
};

static const struct column feed_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Scope", "string", 0, "spec.scope", "Scope of the feed."),
    COLUMN_PATH("User", "string", 0, "status.user", "Creator of the feed."),
    COLUMN_PATH("Path", "string", 1, "status.path", "Address of the feed."),
    COLUMN_STARTED,
};
const struct kind kind_calendar_feed = {
    STORED("CalendarFeed", "calendarfeeds", "calendarfeed", KIND_NAMESPACED | KIND_STATUS,
           feed_columns, schema_calendar_feed),
    .prepare = prepare_status,
    .check = calendar_feed_check,
};

/* ---- computed ---- */

const struct kind kind_reservation_check = {
    COMPUTED("ReservationCheck", "reservationchecks", "reservationcheck",
             KIND_NAMESPACED | KIND_VIRTUAL, schema_reservation_check),
    .check = reservation_check,
};

static const struct column availability_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Flavor", "string", 0, "flavor", "ResourceFlavor."),
    COLUMN_PATH("Resource", "string", 0, "resource", "Name of the resource."),
    COLUMN_PATH("Total", "integer", 0, "total", "Capacity in units."),
};
const struct kind kind_availability = {
    COMPUTED("Availability", "availabilities", "availability", 0, schema_availability),
    .columns = availability_columns,
    .n_columns = COUNT(availability_columns),
};
const struct kind kind_fleet = {COMPUTED("Fleet", "fleets", "fleet", 0, schema_fleet)};

static const struct column history_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Flavor", "string", 0, "flavor", "ResourceFlavor."),
    COLUMN_PATH("Product", "string", 0, "product", "Product name of the GPU."),
};
const struct kind kind_fleet_history = {
    COMPUTED("FleetHistory", "fleethistories", "fleethistory", 0, schema_fleet_history),
    .columns = history_columns,
    .n_columns = COUNT(history_columns),
};

/* ---- of another project ---- */

static const struct column profile_columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Type", "string", 0, "spec.scheduling.type", "Queue or Node."),
    COLUMN_PATH("Queue", "string", 0, "spec.scheduling.kueue.localQueueName",
                "LocalQueue to which work is submitted."),
    COLUMN_STARTED,
};
static const struct kind_version profile_versions[] = {
    {.version = "v1", .schema = &schema_hardware_profile},
    {.version = "v1alpha1",
     .schema = &schema_hardware_profile,
     .to_storage = convert_nothing,
     .from_storage = convert_nothing},
};
const struct kind kind_hardware_profile = {
    .group = "infrastructure.opendatahub.io",
    .api_version = "infrastructure.opendatahub.io/v1",
    .kind = "HardwareProfile",
    .plural = "hardwareprofiles",
    .singular = "hardwareprofile",
    .flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED | KIND_NAMESPACED,
    .short_names = NAMES("hwp"),
    .versions = profile_versions,
    .n_versions = COUNT(profile_versions),
    .columns = profile_columns,
    .n_columns = COUNT(profile_columns),
    .check = hardware_profile_check,
};

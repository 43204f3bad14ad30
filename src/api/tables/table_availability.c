/* table_availability: the fields of what is computed about GPUs: Availability, Fleet, FleetHistory (berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_reservation.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")
#define META F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Its name.")

/* ---- Availability ---- */

static const struct field slot_fields[] = {
    F(TIME, ONE, "start", 0, .doc = "From when."),
    F(TIME, ONE, "end", 0, .doc = "Until when."),
    F(INT64, ONE, "free", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "The most that could be booked for all of it."),
    F(INT64, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "The most that there could be."),
};
static const struct schema schema_slot =
    SCHEMA("dev.berth.v1alpha1.AvailabilitySlot", slot_fields, 0, "What is free in a time.");

static const struct field busy_fields[] = {
    F(TIME, ONE, "start", 0, .doc = "From when."),
    F(TIME, ONE, "end", 0, .doc = "Until when."),
    F(INT64, ONE, "count", 0, .doc = "How many."),
    F(STRING, ONE, "phase", 0, .doc = "Phase of the booking, or the type of a CapacityWindow."),
    F(STRING, ONE, "namespace", 0, .doc = "Its project; absent when you may not see it."),
    F(STRING, ONE, "name", 0, .doc = "Its name; absent when you may not see it."),
    F(STRING, ONE, "owner", 0, .doc = "Whose it is; absent when you may not see it."),
    F(STRING, ONE, "purpose", 0, .doc = "What it is for; absent when you may not see it."),
    F(STRING, ONE, "reason", 0, .doc = "Why, of a CapacityWindow."),
};
static const struct schema schema_busy =
    SCHEMA("dev.berth.v1alpha1.AvailabilityBusy", busy_fields, 0, "What is taken.");

static const struct field availability_fields[] = {
    API_VERSION,
    KIND,
    META,
    F(STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    F(STRING, ONE, "resource", 0, .doc = "The resource."),
    F(STRING, ONE, "displayName", 0, .doc = "The resource for people."),
    F(DOUBLE, ONE, "memoryGiB", 0, .doc = "Memory of one unit."),
    F(DOUBLE, ONE, "gpuShare", 0, .doc = "Share of a GPU that one unit is: of its memory."),
    F(INT64, ONE, "total", 0, .doc = "The most that there could be now."),
    F(OBJECT, LIST, "slots", 0, .of = &schema_slot, .doc = "What is free, step by step."),
    F(OBJECT, LIST, "busy", 0, .of = &schema_busy, .doc = "What is taken, by start."),
};
const struct schema schema_availability =
    SCHEMA("dev.berth.v1alpha1.Availability", availability_fields, 0,
           "When a resource is free (query: from, to, step); computed when read.");

/* ---- Fleet ---- */

static const struct field type_resource_fields[] = {
    F(STRING, ONE, "resource", 0, .doc = "The resource."),
    F(INT64, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "The most there could be."),
    F(INT64, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "That pods have."),
    F(INT64, ONE, "reserved", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Booked for now."),
    F(INT64, ONE, "free", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "That a pod could get now."),
    F(INT64, ONE, "waiting", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "That is waited for."),
    F(INT64, ONE, "broken", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Out of order."),
};
static const struct schema schema_type_resource =
    SCHEMA("dev.berth.v1alpha1.FleetResource", type_resource_fields, 0, "A resource of a type.");

static const struct field fleet_type_fields[] = {
    F(STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    F(STRING, ONE, "product", 0, .doc = "What the board is called."),
    F(OBJECT, LIST, "resources", 0, .of = &schema_type_resource, .doc = "GPUs and slices."),
};
static const struct schema schema_fleet_type =
    SCHEMA("dev.berth.v1alpha1.FleetType", fleet_type_fields, 0, "A type of GPU.");

static const struct field instance_fields[] = {
    F(STRING, ONE, "profile", 0, .doc = "MIG profile; absent: the whole GPU."),
    F(INT64, ONE, "start", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "First memory slice."),
    F(INT64, ONE, "size", 0, .doc = "Memory slices."),
    F(BOOL, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "A pod has it."),
    F(DOUBLE, ONE, "utilization", 0, .doc = "In percent; absent: unknown."),
    F(STRING, ONE, "namespace", 0, .doc = "Of the pod; absent when you may not see it."),
    F(STRING, ONE, "pod", 0, .doc = "The pod; absent when you may not see it."),
    F(STRING, ONE, "workload", 0, .doc = "Its Workload; absent when you may not see it."),
};
static const struct schema schema_instance =
    SCHEMA("dev.berth.v1alpha1.FleetInstance", instance_fields, 0, "A slice of a card.");

static const struct field card_fields[] = {
    F(STRING, ONE, "node", 0, .doc = "Its node."),
    F(INT64, ONE, "index", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Its number on the node."),
    F(STRING, ONE, "uuid", 0, .doc = "Its UUID."),
    F(STRING, ONE, "model", 0, .doc = "What it is called."),
    F(STRING, ONE, "flavor", 0, .doc = "Its ResourceFlavor."),
    F(DOUBLE, ONE, "memoryGiB", 0, .doc = "Its memory."),
    F(INT64, ONE, "slices", 0, .doc = "Memory slices that it can be cut into."),
    F(BOOL, ONE, "migEnabled", 0, .doc = "It can be cut now."),
    F(STRING, ONE, "health", 0, .doc = "Healthy, Unhealthy or Unknown."),
    F(STRING, ONE, "trouble", 0, .doc = "What is wrong with it."),
    F(DOUBLE, ONE, "temperature", 0, .doc = "In degrees Celsius; absent: unknown."),
    F(DOUBLE, ONE, "power", 0, .doc = "In watts; absent: unknown."),
    F(DOUBLE, ONE, "utilization", 0, .doc = "In percent; absent: unknown."),
    F(DOUBLE, ONE, "memoryUsed", 0, .doc = "In GiB; absent: unknown."),
    F(OBJECT, LIST, "instances", 0, .of = &schema_instance, .doc = "What it is cut into."),
};
static const struct schema schema_card =
    SCHEMA("dev.berth.v1alpha1.FleetCard", card_fields, 0, "A GPU.");

static const struct field attention_fields[] = {
    F(STRING, ONE, "severity", 0, .doc = "info, warning or danger."),
    F(STRING, ONE, "text", 0, .doc = "What it is, for people."),
    F(STRING, ONE, "kind", 0, .doc = "Of the object."),
    F(STRING, ONE, "namespace", 0, .doc = "Of the object; absent when you may not see it."),
    F(STRING, ONE, "name", 0, .doc = "The object; absent when you may not see it."),
};
static const struct schema schema_attention =
    SCHEMA("dev.berth.v1alpha1.FleetAttention", attention_fields, 0, "What needs attention.");

static const struct field fleet_fields[] = {
    API_VERSION,
    KIND,
    META,
    F(OBJECT, LIST, "types", 0, .of = &schema_fleet_type, .doc = "Types of GPUs."),
    F(OBJECT, LIST, "cards", 0, .of = &schema_card, .doc = "Every card."),
    F(OBJECT, LIST, "attention", 0, .of = &schema_attention, .doc = "What needs attention."),
    F(TIME, ONE, "computed", 0, .doc = "When this was computed."),
};
const struct schema schema_fleet = SCHEMA("dev.berth.v1alpha1.Fleet", fleet_fields, 0,
                                          "All GPUs as they are now (named current); computed "
                                          "when read.");

/* ---- FleetHistory ---- */

static const struct field sample_fields[] = {
    F(TIME, ONE, "at", 0, .doc = "When."),
    F(DOUBLE, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "GPUs."),
    F(DOUBLE, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "GPUs that pods had."),
    F(DOUBLE, ONE, "reserved", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "GPUs that were booked."),
    F(DOUBLE, ONE, "busyPct", 0, .doc = "How busy they were, in percent; absent: unknown."),
};
static const struct schema schema_sample =
    SCHEMA("dev.berth.v1alpha1.FleetSample", sample_fields, 0, "One minute.");

static const struct field history_fields[] = {
    API_VERSION,
    KIND,
    META,
    F(STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    F(STRING, ONE, "product", 0, .doc = "What the board is called."),
    F(OBJECT, LIST, "samples", 0, .of = &schema_sample, .doc = "The last 24 hours, by minute."),
};
const struct schema schema_fleet_history =
    SCHEMA("dev.berth.v1alpha1.FleetHistory", history_fields, 0,
           "How a type of GPU was used in the last 24 hours; kept in memory only.");

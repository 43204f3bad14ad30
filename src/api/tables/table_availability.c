/* table_availability: the fields of what is computed about GPUs: Availability, Fleet, FleetHistory (berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_fleet.h"
#include "api/tables/view_reservation.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")

/* ---- Availability ---- */

static const struct field slot_fields[] = {
    M(availability_slot, start_ns, TIME, ONE, "start", 0, .doc = "From when."),
    M(availability_slot, end_ns, TIME, ONE, "end", 0, .doc = "Until when."),
    M(availability_slot, free, INT64, ONE, "free", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that could be booked for the whole interval."),
    M(availability_slot, total, INT64, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Capacity in units."),
};
static const struct schema schema_slot =
    SCHEMA("dev.berth.v1alpha1.AvailabilitySlot", slot_fields,
           sizeof(struct availability_slot), "Free units in an interval.");

static const struct field busy_fields[] = {
    M(availability_busy, start_ns, TIME, ONE, "start", 0, .doc = "From when."),
    M(availability_busy, end_ns, TIME, ONE, "end", 0, .doc = "Until when."),
    M(availability_busy, count, INT64, ONE, "count", 0, .doc = "Number of units."),
    M(availability_busy, phase, STRING, ONE, "phase", 0,
      .doc = "Phase of the booking, or the type of a CapacityWindow."),
    M(availability_busy, namespace, STRING, ONE, "namespace", 0,
      .doc = "Project of the booking; absent when you may not see it."),
    M(availability_busy, name, STRING, ONE, "name", 0,
      .doc = "Name of the booking; absent when you may not see it."),
    M(availability_busy, owner, STRING, ONE, "owner", 0,
      .doc = "Owner of the booking; absent when you may not see it."),
    M(availability_busy, purpose, STRING, ONE, "purpose", 0,
      .doc = "Purpose of the booking; absent when you may not see it."),
    F(STRING, ONE, "reason", 0, .doc = "Reason, for a CapacityWindow."),
};
static const struct schema schema_busy =
    SCHEMA("dev.berth.v1alpha1.AvailabilityBusy", busy_fields,
           sizeof(struct availability_busy), "A booking or CapacityWindow that takes units.");

static const struct field availability_fields[] = {
    API_VERSION,
    KIND,
    M(availability, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name of the object."),
    M(availability, flavor, STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    M(availability, resource, STRING, ONE, "resource", 0, .doc = "Name of the resource."),
    M(availability, display_name, STRING, ONE, "displayName", 0,
      .doc = "Display name of the resource."),
    M(availability, memory_gib, DOUBLE, ONE, "memoryGiB", 0, .doc = "Memory of one unit."),
    M(availability, gpu_share, DOUBLE, ONE, "gpuShare", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Fraction of a GPU's memory that one unit has."),
    M(availability, total, INT64, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Current capacity in units."),
    M(availability, slots, OBJECT, LIST, "slots", 0, .of = &schema_slot,
      .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Free units, one entry for each interval."),
    M(availability, busy, OBJECT, LIST, "busy", 0, .of = &schema_busy,
      .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Bookings and windows that take units, ordered by start."),
};
const struct schema schema_availability =
    SCHEMA("dev.berth.v1alpha1.Availability", availability_fields,
           sizeof(struct availability),
           "Free units of each resource over time (query: from, to, step); computed on read.");

/* ---- Fleet ---- */

static const struct field type_resource_fields[] = {
    M(fleet_count, resource, STRING, ONE, "resource", 0, .doc = "Name of the resource."),
    M(fleet_count, total, INT64, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Capacity in units."),
    M(fleet_count, used, INT64, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that pods use."),
    M(fleet_count, reserved, INT64, ONE, "reserved", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that are booked at this moment."),
    M(fleet_count, free, INT64, ONE, "free", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that a pod could get now."),
    M(fleet_count, waiting, INT64, ONE, "waiting", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that pending workloads request."),
    M(fleet_count, broken, INT64, ONE, "broken", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Units that are out of order."),
};
static const struct schema schema_type_resource =
    SCHEMA("dev.berth.v1alpha1.FleetResource", type_resource_fields,
           sizeof(struct fleet_count), "A resource of a GPU type.");

static const struct field fleet_type_fields[] = {
    M(fleet_type_view, flavor, STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    M(fleet_type_view, product, STRING, ONE, "product", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Product name of the GPU."),
    M(fleet_type_view, resources, OBJECT, LIST, "resources", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_type_resource,
      .doc = "GPUs and slices."),
};
static const struct schema schema_fleet_type =
    SCHEMA("dev.berth.v1alpha1.FleetType", fleet_type_fields,
           sizeof(struct fleet_type_view), "A type of GPU.");

static const struct field instance_fields[] = {
    M(fleet_instance_view, profile, STRING, ONE, "profile", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "MIG profile; absent: the whole GPU."),
    M(fleet_instance_view, start, INT64, ONE, "start", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "First memory slice."),
    M(fleet_instance_view, size, INT64, ONE, "size", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Memory slices."),
    M(fleet_instance_view, used, BOOL, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether a pod uses it."),
    M(fleet_instance_view, utilization, DOUBLE, ONE, "utilization", 0, .flags = FIELD_F_OPT,
      .doc = "Utilization in percent; absent: unknown."),
    M(fleet_instance_view, namespace, STRING, ONE, "namespace", 0,
      .doc = "Namespace of the pod; absent when you may not see it."),
    M(fleet_instance_view, pod, STRING, ONE, "pod", 0,
      .doc = "Name of the pod; absent when you may not see it."),
    M(fleet_instance_view, workload, STRING, ONE, "workload", 0,
      .doc = "Name of the pod's Workload; absent when you may not see it."),
};
static const struct schema schema_instance =
    SCHEMA("dev.berth.v1alpha1.FleetInstance", instance_fields,
           sizeof(struct fleet_instance_view), "A MIG slice, or the whole GPU.");

static const struct field card_fields[] = {
    M(fleet_card_view, node, STRING, ONE, "node", 0, .doc = "Name of the node."),
    M(fleet_card_view, index, INT64, ONE, "index", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Index of the GPU on its node."),
    M(fleet_card_view, uuid, STRING, ONE, "uuid", 0, .doc = "UUID of the GPU."),
    M(fleet_card_view, model, STRING, ONE, "model", 0, .doc = "Product name of the GPU."),
    M(fleet_card_view, flavor, STRING, ONE, "flavor", 0, .doc = "ResourceFlavor of the GPU."),
    M(fleet_card_view, memory_gib, DOUBLE, ONE, "memoryGiB", 0, .flags = FIELD_F_OPT,
      .doc = "Memory of the GPU."),
    M(fleet_card_view, slices, INT64, ONE, "slices", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of memory slices."),
    M(fleet_card_view, mig_enabled, BOOL, ONE, "migEnabled", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether MIG is enabled."),
    M(fleet_card_view, health, STRING, ONE, "health", 0, .doc = "Healthy, Unhealthy or Unknown."),
    M(fleet_card_view, trouble, STRING, ONE, "trouble", 0, .doc = "What is wrong with the GPU."),
    M(fleet_card_view, temperature, DOUBLE, ONE, "temperature", 0, .flags = FIELD_F_OPT,
      .doc = "Temperature in degrees Celsius; absent: unknown."),
    M(fleet_card_view, power, DOUBLE, ONE, "power", 0, .flags = FIELD_F_OPT,
      .doc = "Power draw in watts; absent: unknown."),
    M(fleet_card_view, utilization, DOUBLE, ONE, "utilization", 0, .flags = FIELD_F_OPT,
      .doc = "Utilization in percent; absent: unknown."),
    M(fleet_card_view, memory_used, DOUBLE, ONE, "memoryUsed", 0, .flags = FIELD_F_OPT,
      .doc = "Used memory in GiB; absent: unknown."),
    M(fleet_card_view, instances, OBJECT, LIST, "instances", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_instance,
      .doc = "Slices of the GPU."),
};
static const struct schema schema_card =
    SCHEMA("dev.berth.v1alpha1.FleetCard", card_fields,
           sizeof(struct fleet_card_view), "A GPU.");

static const struct field attention_fields[] = {
    M(fleet_attention_view, severity, STRING, ONE, "severity", 0,
      .doc = "info, warning or danger."),
    M(fleet_attention_view, text, STRING, ONE, "text", 0, .doc = "Human-readable message."),
    M(fleet_attention_view, kind, STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(fleet_attention_view, namespace, STRING, ONE, "namespace", 0,
      .doc = "Namespace of the object; absent when you may not see it."),
    M(fleet_attention_view, name, STRING, ONE, "name", 0,
      .doc = "Name of the object; absent when you may not see it."),
};
static const struct schema schema_attention =
    SCHEMA("dev.berth.v1alpha1.FleetAttention", attention_fields,
           sizeof(struct fleet_attention_view), "A condition that needs attention.");

static const struct field fleet_fields[] = {
    API_VERSION,
    KIND,
    M(fleet_view, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name of the object."),
    M(fleet_view, types, OBJECT, LIST, "types", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_fleet_type,
      .doc = "Types of GPUs."),
    M(fleet_view, cards, OBJECT, LIST, "cards", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_card,
      .doc = "Every card."),
    M(fleet_view, attention, OBJECT, LIST, "attention", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_attention,
      .doc = "A condition that needs attention."),
    M(fleet_view, computed_ns, TIME, ONE, "computed", 0, .doc = "Time of the computation."),
};
const struct schema schema_fleet = SCHEMA("dev.berth.v1alpha1.Fleet", fleet_fields,
                                          sizeof(struct fleet_view),
                                          "Current state of all GPUs (object current); computed on "
                                          "read.");

/* ---- FleetHistory ---- */

static const struct field sample_fields[] = {
    M(fleet_sample_view, at_ns, TIME, ONE, "at", 0, .doc = "Time of the sample."),
    M(fleet_sample_view, total, DOUBLE, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "GPUs."),
    M(fleet_sample_view, used, DOUBLE, ONE, "used", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "GPUs that pods had."),
    M(fleet_sample_view, reserved, DOUBLE, ONE, "reserved", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "GPUs that were booked."),
    M(fleet_sample_view, busy_pct, DOUBLE, ONE, "busyPct", 0, .flags = FIELD_F_OPT,
      .doc = "Mean utilization in percent; absent: unknown."),
};
static const struct schema schema_sample =
    SCHEMA("dev.berth.v1alpha1.FleetSample", sample_fields,
           sizeof(struct fleet_sample_view), "Usage in one minute.");

static const struct field history_fields[] = {
    API_VERSION,
    KIND,
    M(fleet_history_view, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name of the object."),
    M(fleet_history_view, flavor, STRING, ONE, "flavor", 0, .doc = "ResourceFlavor."),
    M(fleet_history_view, product, STRING, ONE, "product", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Product name of the GPU."),
    M(fleet_history_view, samples, OBJECT, LIST, "samples", 0,
      .flags = FIELD_F_KEEP_EMPTY, .of = &schema_sample,
      .doc = "The last 24 hours, by minute."),
};
const struct schema schema_fleet_history =
    SCHEMA("dev.berth.v1alpha1.FleetHistory", history_fields, sizeof(struct fleet_history_view),
           "Usage of a GPU type in the last 24 hours; kept in memory only.");

/*
 * inventory: what a node says of its GPUs, and what control says of a pod's devices. Two annotations, one codec.
 *
 * The node writes annotation `berth.dev/gpus` on its Node; control writes `berth.dev/devices` on a Pod when it binds
 * it. Geometry comes from NVML on that machine (profiles, legal starts), so control hard-codes no board. Units: memory
 * slices for starts and sizes, MiB for memory.
 */
#ifndef BERTH_API_INVENTORY_H
#define BERTH_API_INVENTORY_H

#include "api/tables/field.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define INVENTORY_ANNOTATION "berth.dev/gpus"
#define DEVICES_ANNOTATION "berth.dev/devices"
/* On a Node, written by an administrator (`berth gpu clear`): UUIDs, separated by commas, of GPUs that come back into
 * service. The node takes it away when it is done. */
#define CLEAR_GPUS_ANNOTATION "berth.dev/clear-gpus"

enum {
    INVENTORY_GPUS_MAX = 64,
    INVENTORY_PROFILES_MAX = 24,
    INVENTORY_INSTANCES_MAX = 16,
    INVENTORY_SLICES_MAX = 16,
};

struct gpu_profile {
    struct str name;        /* "1g.18gb", "1g.18gb+me" */
    struct str resource;    /* "nvidia.com/mig-1g.18gb.me" */
    int32_t id;             /* NVML GPU instance profile id */
    int32_t size;           /* memory slices */
    int32_t compute_slices; /* g */
    int32_t memory_mib;
    int32_t max_instances;
    uint32_t starts; /* bit i: start at memory slice i is legal */
    bool media;      /* +me: at most one per GPU */
};

struct gpu_instance {
    int32_t profile_id, start, size;
    struct str uuid;         /* MIG-..., empty while being carved */
    struct str pod_uid;      /* owner; empty when idle */
    int32_t utilization_pct; /* of this instance; -1 when the hardware does not say */
};

struct gpu_card {
    struct str uuid, model, board; /* "GPU-...", "NVIDIA H200", "0x233510DE" */
    int32_t index;
    int32_t memory_mib, slices; /* memory slices; 0 when the GPU cannot do MIG */
    bool mig_enabled;           /* current mode */
    bool mig_managed;           /* Berth may change the mode of this GPU while it is idle */
    bool healthy;
    struct str trouble; /* why not healthy: "Xid 79: GPU has fallen off the bus" */
    struct str pod_uid; /* holder of the whole GPU, or empty */
    struct gpu_profile *profiles;
    size_t n_profiles;
    struct gpu_instance *instances; /* live ones */
    size_t n_instances;
    /* telemetry of the moment; -1 when the hardware does not say (never 0 for unknown) */
    int32_t utilization_pct, temperature_c, power_mw, memory_used_mib;
};

struct inventory {
    struct gpu_card *gpus;
    size_t n;
    bool simulated;
};

/* One device given to a container of a pod. */
struct pod_device {
    struct str container;
    struct str gpu;     /* GPU uuid */
    int32_t profile_id; /* -1: the whole GPU */
    struct str profile; /* name, empty for a whole GPU */
    int32_t start;      /* memory slice */
    int32_t size;
};
struct pod_devices {
    struct pod_device *v;
    size_t n;
};

/* Pods of a Workload and where they go: an item of annotation berth.dev/placement (api/pod_fields.h). */
struct pod_place {
    struct str pod_set;
    int32_t index, count; /* the first of `count` pods that follow one another; 0: one */
    struct str node;
    struct pod_devices devices;
};
/* A GPU, or a part of one, that is promised to a queue: an item of annotation berth.dev/placements. */
struct gpu_place {
    struct str node, gpu, profile;
    int32_t start, size;
};
extern const struct schema schema_pod_place, schema_gpu_place;

void inventory_encode(const struct inventory *inv, struct buf *out);
int inventory_decode(struct str json, struct arena *a, struct inventory *ret, struct err *err);
void pod_devices_encode(const struct pod_devices *d, struct buf *out);
int pod_devices_decode(struct str json, struct arena *a, struct pod_devices *ret, struct err *err);

/* The name of the ResourceFlavor for GPUs of a model: "NVIDIA H200" to "nvidia-h200"; "gpu" when nothing is left. In
 * the arena. */
struct str gpu_flavor_name(struct arena *a, struct str model);

#endif

/*
 * nvml: our own declarations of the part of NVIDIA's management library that Berth calls.
 *
 * These are facts of a binary interface: names, numbers, layouts. The library is opened at run time
 * (nvml_lib.h), so none of this is linked. Structures keep NVML's member order and sizes; names are
 * in this project's hand. The simulated library (stub/nvml) has a transcription of its own, so
 * that a mistake here shows (stub/nvml/abi_test.c).
 */

/* clang-format off */
#ifndef BERTH_NODE_NVML_H
#define BERTH_NODE_NVML_H

struct nvml_device;
struct nvml_gpu_instance;
struct nvml_compute_instance;
struct nvml_event_set;
struct nvml_gpm_sample;

enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_LIBRARY_NOT_FOUND = 12,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_LIB_RM_VERSION_MISMATCH = 18,
    NVML_IN_USE = 19,
    NVML_INSUFFICIENT_RESOURCES = 23,
    NVML_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};

enum {
    NVML_TEXT = 96,               /* UUID, name, version buffers */
    NVML_INIT_NO_GPUS = 1,
    NVML_GPU_PROFILE_COUNT = 18,  /* the query enum: 0 .. 17; not the ids that come back */
    NVML_CI_PROFILE_COUNT = 9,
    NVML_CI_ENGINE_SHARED = 0,
    NVML_TEMPERATURE_GPU = 0,
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
    NVML_EVENT_XID = 0x8,
    NVML_EVENT_MIG_CONFIG = 0x100,
    NVML_GPM_GRAPHICS_UTIL = 1,
    NVML_GPM_METRICS_MAX = 512,   /* more than any version of the library counts */
};

#define NVML_WHOLE_GPU 0xFFFFFFFFu
/* Versioned structures say their size and version in their first member. */
#define NVML_STRUCT_VERSION(type, n) ((unsigned)(sizeof(type) | ((unsigned)(n) << 24)))

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device;
    unsigned device_id;    /* 0xDDDDVVVV, device and vendor: 0x233510DE */
    unsigned subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_placement {
    unsigned start, size;
};

struct nvml_gpu_profile {
    unsigned id, p2p, slices, instances, sm, copy, decoders, encoders, jpegs, ofas;
    unsigned long long memory_mib;
};

struct nvml_gpu_profile_v2 {
    unsigned version;
    unsigned id, p2p, slices, instances, sm, copy, decoders, encoders, jpegs, ofas;
    unsigned long long memory_mib;
    char name[96];
};

struct nvml_gpu_instance_info {
    struct nvml_device *device;
    unsigned id, profile_id;
    struct nvml_placement placement;
};

struct nvml_compute_profile {
    unsigned id, slices, instances, sm, copy, decoders, encoders, jpegs, ofas;
};

struct nvml_compute_instance_info {
    struct nvml_device *device;
    struct nvml_gpu_instance *gpu_instance;
    unsigned id, profile_id;
    struct nvml_placement placement;
};

struct nvml_attributes {
    unsigned sm, copy, decoders, encoders, jpegs, ofas, gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

struct nvml_event {
    struct nvml_device *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct nvml_gpm_support {
    unsigned version, supported;
};

struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    char *short_name, *long_name, *unit;
};

struct nvml_gpm_metrics {
    unsigned version, n;
    struct nvml_gpm_sample *first, *second;
    struct nvml_gpm_metric v[NVML_GPM_METRICS_MAX];
};

/*
 * CALL(name, suffixes, arguments): every call, named without "nvml". suffixes, each ended by a
 * comma, are tried in order: newest first, "," is the bare name. Only forms with the same arguments
 * stand in one row. All return enum nvml_return, but ErrorString.
 */
#define NVML_CALLS(CALL)                                                                         \
    CALL(InitWithFlags, ",", (unsigned flags))                                                   \
    CALL(Shutdown, ",", (void))                                                                  \
    CALL(SystemGetDriverVersion, ",", (char *text, unsigned n))                                  \
    CALL(SystemGetCudaDriverVersion, "_v2,,", (int *ret))                                        \
    CALL(DeviceGetCount, "_v2,,", (unsigned *ret))                                               \
    CALL(DeviceGetHandleByIndex, "_v2,,", (unsigned index, struct nvml_device **ret))            \
    CALL(DeviceGetUUID, ",", (struct nvml_device * d, char *text, unsigned n))                   \
    CALL(DeviceGetName, ",", (struct nvml_device * d, char *text, unsigned n))                   \
    CALL(DeviceGetMinorNumber, ",", (struct nvml_device * d, unsigned *ret))                     \
    CALL(DeviceGetPciInfo, "_v3,_v2,", (struct nvml_device * d, struct nvml_pci * ret))          \
    CALL(DeviceGetCudaComputeCapability, ",", (struct nvml_device * d, int *major, int *minor))  \
    CALL(DeviceGetMemoryInfo, ",", (struct nvml_device * d, struct nvml_memory * ret))           \
    CALL(DeviceGetMemoryInfo_v2, ",", (struct nvml_device * d, struct nvml_memory_v2 * ret))     \
    CALL(DeviceGetUtilizationRates, ",", (struct nvml_device * d, struct nvml_utilization * r))  \
    CALL(DeviceGetTemperature, ",", (struct nvml_device * d, int sensor, unsigned *ret))         \
    CALL(DeviceGetPowerUsage, ",", (struct nvml_device * d, unsigned *ret))                      \
    CALL(DeviceGetTotalEnergyConsumption, ",", (struct nvml_device * d, unsigned long long *r))  \
    CALL(DeviceGetClockInfo, ",", (struct nvml_device * d, int type, unsigned *ret))             \
    CALL(EventSetCreate, ",", (struct nvml_event_set * *ret))                                    \
    CALL(EventSetFree, ",", (struct nvml_event_set * set))                                       \
    CALL(DeviceGetSupportedEventTypes, ",", (struct nvml_device * d, unsigned long long *ret))   \
    CALL(DeviceRegisterEvents, ",",                                                              \
         (struct nvml_device * d, unsigned long long mask, struct nvml_event_set * set))         \
    CALL(EventSetWait, "_v2,",                                                                   \
         (struct nvml_event_set * set, struct nvml_event * ret, unsigned ms))                    \
    CALL(DeviceGetMigMode, ",", (struct nvml_device * d, unsigned *current, unsigned *pending))  \
    CALL(DeviceSetMigMode, ",", (struct nvml_device * d, unsigned mode, int *activation))        \
    CALL(DeviceGetGpuInstanceProfileInfo, ",",                                                   \
         (struct nvml_device * d, unsigned query, struct nvml_gpu_profile * ret))                \
    CALL(DeviceGetGpuInstanceProfileInfoV, ",",                                                  \
         (struct nvml_device * d, unsigned query, struct nvml_gpu_profile_v2 * ret))             \
    CALL(DeviceGetGpuInstancePossiblePlacements, "_v2,",                                         \
         (struct nvml_device * d, unsigned id, struct nvml_placement * v, unsigned *n))          \
    CALL(DeviceGetGpuInstanceRemainingCapacity, ",",                                             \
         (struct nvml_device * d, unsigned id, unsigned *ret))                                   \
    CALL(DeviceCreateGpuInstance, ",",                                                           \
         (struct nvml_device * d, unsigned id, struct nvml_gpu_instance * *ret))                 \
    CALL(DeviceCreateGpuInstanceWithPlacement, ",",                                              \
         (struct nvml_device * d, unsigned id, const struct nvml_placement *where,               \
          struct nvml_gpu_instance **ret))                                                       \
    CALL(GpuInstanceDestroy, ",", (struct nvml_gpu_instance * gi))                               \
    CALL(DeviceGetGpuInstances, ",",                                                             \
         (struct nvml_device * d, unsigned id, struct nvml_gpu_instance * *v, unsigned *n))      \
    CALL(DeviceGetGpuInstanceById, ",",                                                          \
         (struct nvml_device * d, unsigned id, struct nvml_gpu_instance * *ret))                 \
    CALL(GpuInstanceGetInfo, ",",                                                                \
         (struct nvml_gpu_instance * gi, struct nvml_gpu_instance_info * ret))                   \
    CALL(GpuInstanceGetComputeInstanceProfileInfo, ",",                                          \
         (struct nvml_gpu_instance * gi, unsigned query, unsigned engine,                        \
          struct nvml_compute_profile *ret))                                                     \
    CALL(GpuInstanceGetComputeInstancePossiblePlacements, ",",                                   \
         (struct nvml_gpu_instance * gi, unsigned id, struct nvml_placement * v, unsigned *n))   \
    CALL(GpuInstanceCreateComputeInstance, ",",                                                  \
         (struct nvml_gpu_instance * gi, unsigned id, struct nvml_compute_instance * *ret))      \
    CALL(ComputeInstanceDestroy, ",", (struct nvml_compute_instance * ci))                       \
    CALL(GpuInstanceGetComputeInstances, ",",                                                    \
         (struct nvml_gpu_instance * gi, unsigned id, struct nvml_compute_instance * *v,         \
          unsigned *n))                                                                          \
    CALL(ComputeInstanceGetInfo, "_v2,",                                                         \
         (struct nvml_compute_instance * ci, struct nvml_compute_instance_info * ret))           \
    CALL(DeviceGetMaxMigDeviceCount, ",", (struct nvml_device * d, unsigned *ret))               \
    CALL(DeviceGetMigDeviceHandleByIndex, ",",                                                   \
         (struct nvml_device * d, unsigned index, struct nvml_device * *ret))                    \
    CALL(DeviceIsMigDeviceHandle, ",", (struct nvml_device * d, unsigned *ret))                  \
    CALL(DeviceGetGpuInstanceId, ",", (struct nvml_device * mig, unsigned *ret))                 \
    CALL(DeviceGetComputeInstanceId, ",", (struct nvml_device * mig, unsigned *ret))             \
    CALL(DeviceGetDeviceHandleFromMigDeviceHandle, ",",                                          \
         (struct nvml_device * mig, struct nvml_device * *ret))                                  \
    CALL(DeviceGetAttributes, "_v2,", (struct nvml_device * mig, struct nvml_attributes * ret))  \
    CALL(GpmQueryDeviceSupport, ",", (struct nvml_device * d, struct nvml_gpm_support * ret))    \
    CALL(GpmSampleAlloc, ",", (struct nvml_gpm_sample * *ret))                                   \
    CALL(GpmSampleFree, ",", (struct nvml_gpm_sample * s))                                       \
    CALL(GpmSampleGet, ",", (struct nvml_device * d, struct nvml_gpm_sample * s))                \
    CALL(GpmMigSampleGet, ",",                                                                   \
         (struct nvml_device * d, unsigned gi, struct nvml_gpm_sample * s))                      \
    CALL(GpmMetricsGet, ",", (struct nvml_gpm_metrics * m))

/* clang-format on */

#endif

/*
 * abi: the binary interface of NVIDIA's management library, as its public documentation gives it: written down for the
 * simulated library alone, and on its own.
 *
 * Berth's own declarations (src/node/gpu/nvml.h) are another transcription, by which Berth calls. Nothing here is made
 * of them, so that a member that is missing, of another size or at another place there shows: the two are compared by
 * abi_test.c, and the calls go from one to the other. Names of members are the documentation's, in
 * this project's hand; sizes and places are asserted with numbers counted by hand.
 */
#ifndef BERTH_STUB_ABI_H
#define BERTH_STUB_ABI_H

#include <assert.h>
#include <stddef.h>

/* nvmlDevice_t, nvmlGpuInstance_t, nvmlComputeInstance_t, nvmlEventSet_t, nvmlGpmSample_t point to these. */
struct abi_device;
struct abi_gpu_instance;
struct abi_compute_instance;
struct abi_event_set;
struct abi_gpm_sample;

/* nvmlReturn_t */
enum abi_result {
    ABI_SUCCESS = 0,
    ABI_UNINITIALIZED = 1,
    ABI_INVALID_ARGUMENT = 2,
    ABI_NOT_SUPPORTED = 3,
    ABI_NO_PERMISSION = 4,
    ABI_ALREADY_INITIALIZED = 5,
    ABI_NOT_FOUND = 6,
    ABI_INSUFFICIENT_SIZE = 7,
    ABI_INSUFFICIENT_POWER = 8,
    ABI_DRIVER_NOT_LOADED = 9,
    ABI_TIMEOUT = 10,
    ABI_IRQ_ISSUE = 11,
    ABI_LIBRARY_NOT_FOUND = 12,
    ABI_FUNCTION_NOT_FOUND = 13,
    ABI_CORRUPTED_INFOROM = 14,
    ABI_GPU_IS_LOST = 15,
    ABI_RESET_REQUIRED = 16,
    ABI_OPERATING_SYSTEM = 17,
    ABI_LIB_RM_VERSION_MISMATCH = 18,
    ABI_IN_USE = 19,
    ABI_MEMORY = 20,
    ABI_NO_DATA = 21,
    ABI_VGPU_ECC_NOT_SUPPORTED = 22,
    ABI_INSUFFICIENT_RESOURCES = 23,
    ABI_FREQ_NOT_SUPPORTED = 24,
    ABI_ARGUMENT_VERSION_MISMATCH = 25,
    ABI_DEPRECATED = 26,
    ABI_NOT_READY = 27,
    ABI_GPU_NOT_FOUND = 28,
    ABI_INVALID_STATE = 29,
    ABI_UNKNOWN = 999,
};

enum {
    ABI_INIT_FLAG_NO_GPUS = 1,
    ABI_DEVICE_UUID_V2_BUFFER_SIZE = 96,
    ABI_DEVICE_NAME_V2_BUFFER_SIZE = 96,
    ABI_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16,
    ABI_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32,
    ABI_TEMPERATURE_GPU = 0,
    ABI_CLOCK_GRAPHICS = 0,
    ABI_CLOCK_SM = 1,
    ABI_CLOCK_MEM = 2,
    ABI_CLOCK_VIDEO = 3,
    ABI_DEVICE_MIG_DISABLE = 0,
    ABI_DEVICE_MIG_ENABLE = 1,
    ABI_GPM_METRIC_GRAPHICS_UTIL = 1,
    ABI_GPM_METRIC_MAX =
        333, /* of version 13; 98 in version 12: the caller's array may be longer */
};

/* Profiles of GPU instances, by the number that they are asked for with. */
enum abi_gpu_instance_profile {
    ABI_GPU_INSTANCE_PROFILE_1_SLICE,
    ABI_GPU_INSTANCE_PROFILE_2_SLICE,
    ABI_GPU_INSTANCE_PROFILE_3_SLICE,
    ABI_GPU_INSTANCE_PROFILE_4_SLICE,
    ABI_GPU_INSTANCE_PROFILE_7_SLICE,
    ABI_GPU_INSTANCE_PROFILE_8_SLICE,
    ABI_GPU_INSTANCE_PROFILE_6_SLICE,
    ABI_GPU_INSTANCE_PROFILE_1_SLICE_REV1,
    ABI_GPU_INSTANCE_PROFILE_2_SLICE_REV1,
    ABI_GPU_INSTANCE_PROFILE_1_SLICE_REV2,
    ABI_GPU_INSTANCE_PROFILE_1_SLICE_GFX,
    ABI_GPU_INSTANCE_PROFILE_2_SLICE_GFX,
    ABI_GPU_INSTANCE_PROFILE_4_SLICE_GFX,
    ABI_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME,
    ABI_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME,
    ABI_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME,
    ABI_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME,
    ABI_GPU_INSTANCE_PROFILE_3_SLICE_GFX,
    ABI_GPU_INSTANCE_PROFILE_COUNT
};

enum abi_compute_instance_profile {
    ABI_COMPUTE_INSTANCE_PROFILE_1_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_2_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_3_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_4_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_7_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_8_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_6_SLICE,
    ABI_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1,
    ABI_COMPUTE_INSTANCE_PROFILE_7_SLICE_NVL,
    ABI_COMPUTE_INSTANCE_PROFILE_COUNT
};
enum { ABI_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0 };

/* nvmlEventType...: bits */
#define ABI_EVENT_SINGLE_BIT_ECC_ERROR 0x1ull
#define ABI_EVENT_DOUBLE_BIT_ECC_ERROR 0x2ull
#define ABI_EVENT_PSTATE 0x4ull
#define ABI_EVENT_XID_CRITICAL_ERROR 0x8ull
#define ABI_EVENT_CLOCK 0x10ull
#define ABI_EVENT_POWER_SOURCE_CHANGE 0x80ull
#define ABI_EVENT_MIG_CONFIG_CHANGE 0x100ull

#define ABI_NO_INSTANCE 0xFFFFFFFFu /* gpu_instance_id of what concerns the whole GPU */

/* In the first member of a structure with a version: its bytes, and the version in the highest byte. */
#define ABI_VERSION(bytes, version) ((unsigned)((bytes) | ((unsigned)(version) << 24)))
enum { ABI_MEMORY_V2 = ABI_VERSION(40, 2), ABI_GPU_INSTANCE_PROFILE_INFO_V2 = ABI_VERSION(152, 2) };
enum { ABI_GPM_METRICS_GET_VERSION = 1, ABI_GPM_SUPPORT_VERSION = 1 };

/* nvmlPciInfo_t. pci_device_id: the device in the upper half, the vendor in the lower. */
struct abi_pci_info {
    char bus_id_legacy[ABI_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned pci_device_id;
    unsigned pci_sub_system_id;
    char bus_id[ABI_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};
static_assert(sizeof(struct abi_pci_info) == 68, "nvmlPciInfo_t");

/* nvmlMemory_t, nvmlMemory_v2_t: bytes */
struct abi_memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};
static_assert(sizeof(struct abi_memory) == 24, "nvmlMemory_t");

struct abi_memory_v2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};
static_assert(sizeof(struct abi_memory_v2) == 40, "nvmlMemory_v2_t");

/* nvmlUtilization_t: percent */
struct abi_utilization {
    unsigned gpu;
    unsigned memory;
};
static_assert(sizeof(struct abi_utilization) == 8, "nvmlUtilization_t");

/* nvmlGpuInstancePlacement_t */
struct abi_gpu_instance_placement {
    unsigned start;
    unsigned size;
};
static_assert(sizeof(struct abi_gpu_instance_placement) == 8, "nvmlGpuInstancePlacement_t");

/* nvmlGpuInstanceProfileInfo_t */
struct abi_gpu_instance_profile_info {
    unsigned id;
    unsigned is_p2p_supported;
    unsigned slice_count;
    unsigned instance_count;
    unsigned multiprocessor_count;
    unsigned copy_engine_count;
    unsigned decoder_count;
    unsigned encoder_count;
    unsigned jpeg_count;
    unsigned ofa_count;
    unsigned long long memory_size_mb;
};
static_assert(sizeof(struct abi_gpu_instance_profile_info) == 48, "nvmlGpuInstanceProfileInfo_t");

/* nvmlGpuInstanceProfileInfo_v2_t */
struct abi_gpu_instance_profile_info_v2 {
    unsigned version;
    unsigned id;
    unsigned is_p2p_supported;
    unsigned slice_count;
    unsigned instance_count;
    unsigned multiprocessor_count;
    unsigned copy_engine_count;
    unsigned decoder_count;
    unsigned encoder_count;
    unsigned jpeg_count;
    unsigned ofa_count;
    unsigned long long memory_size_mb;
    char name[ABI_DEVICE_NAME_V2_BUFFER_SIZE];
};
static_assert(sizeof(struct abi_gpu_instance_profile_info_v2) == 152,
              "nvmlGpuInstanceProfileInfo_v2_t");

/* nvmlGpuInstanceInfo_t */
struct abi_gpu_instance_info {
    struct abi_device *device;
    unsigned id;
    unsigned profile_id;
    struct abi_gpu_instance_placement placement;
};
static_assert(sizeof(struct abi_gpu_instance_info) == 24, "nvmlGpuInstanceInfo_t");

/* nvmlComputeInstancePlacement_t */
struct abi_compute_instance_placement {
    unsigned start;
    unsigned size;
};
static_assert(sizeof(struct abi_compute_instance_placement) == 8, "nvmlComputeInstancePlacement_t");

/* nvmlComputeInstanceProfileInfo_t */
struct abi_compute_instance_profile_info {
    unsigned id;
    unsigned slice_count;
    unsigned instance_count;
    unsigned multiprocessor_count;
    unsigned shared_copy_engine_count;
    unsigned shared_decoder_count;
    unsigned shared_encoder_count;
    unsigned shared_jpeg_count;
    unsigned shared_ofa_count;
};
static_assert(sizeof(struct abi_compute_instance_profile_info) == 36,
              "nvmlComputeInstanceProfileInfo_t");

/* nvmlComputeInstanceInfo_t */
struct abi_compute_instance_info {
    struct abi_device *device;
    struct abi_gpu_instance *gpu_instance;
    unsigned id;
    unsigned profile_id;
    struct abi_compute_instance_placement placement;
};
static_assert(sizeof(struct abi_compute_instance_info) == 32, "nvmlComputeInstanceInfo_t");

/* nvmlDeviceAttributes_t */
struct abi_device_attributes {
    unsigned multiprocessor_count;
    unsigned shared_copy_engine_count;
    unsigned shared_decoder_count;
    unsigned shared_encoder_count;
    unsigned shared_jpeg_count;
    unsigned shared_ofa_count;
    unsigned gpu_instance_slice_count;
    unsigned compute_instance_slice_count;
    unsigned long long memory_size_mb;
};
static_assert(sizeof(struct abi_device_attributes) == 40, "nvmlDeviceAttributes_t");

/* nvmlEventData_t */
struct abi_event_data {
    struct abi_device *device;
    unsigned long long event_type;
    unsigned long long event_data;
    unsigned gpu_instance_id;
    unsigned compute_instance_id;
};
static_assert(sizeof(struct abi_event_data) == 32, "nvmlEventData_t");

/* nvmlGpmSupport_t */
struct abi_gpm_support {
    unsigned version;
    unsigned is_supported_device;
};
static_assert(sizeof(struct abi_gpm_support) == 8, "nvmlGpmSupport_t");

/* nvmlGpmMetric_t */
struct abi_gpm_metric {
    unsigned metric_id;
    enum abi_result nvml_return;
    double value;
    struct abi_gpm_metric_info {
        char *short_name;
        char *long_name;
        char *unit;
    } metric_info;
};
static_assert(sizeof(struct abi_gpm_metric) == 40, "nvmlGpmMetric_t");

/* nvmlGpmMetricsGet_t */
struct abi_gpm_metrics_get {
    unsigned version;
    unsigned num_metrics;
    struct abi_gpm_sample *sample1;
    struct abi_gpm_sample *sample2;
    struct abi_gpm_metric metrics[ABI_GPM_METRIC_MAX];
};
static_assert(offsetof(struct abi_gpm_metrics_get, metrics) == 24, "nvmlGpmMetricsGet_t");

#endif

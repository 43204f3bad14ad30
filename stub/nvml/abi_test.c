/*
 * abi: the two transcriptions of NVML's binary interface side by side: ours, by which Berth calls the library, and
 * that of the simulated library, which was written from the documentation alone. A member that is missing, moved or of
 * another size in one of them fails here; so do numbers that differ.
 */
#include "base/test.h"

#include "abi.h"
#include "node/gpu/nvml.h"

struct layout {
    const char *what;
    size_t ours[2], theirs[2]; /* place and size */
};

#define PLACE(type, member)                                                                        \
    { offsetof(struct type, member), sizeof(((struct type *)0)->member) }
#define MEMBER(our_type, our, their_type, their)                                                   \
    {                                                                                              \
#our_type "." #our, PLACE(our_type, our), PLACE(their_type, their)                         \
    }
#define WHOLE(our_type, their_type)                                                                \
    {                                                                                              \
#our_type, {0, sizeof(struct our_type) }, { 0, sizeof(struct their_type) }                 \
    }

static void compare(const struct layout *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].ours[0] != v[i].theirs[0] || v[i].ours[1] != v[i].theirs[1]) {
            print_error("%s: ours at %zu of %zu bytes, theirs at %zu of %zu\n", v[i].what,
                        v[i].ours[0], v[i].ours[1], v[i].theirs[0], v[i].theirs[1]);
            fail();
        }
    }
}
#define COMPARE(list) compare(list, sizeof(list) / sizeof((list)[0]))

static void test_device(void **state) {
    static const struct layout list[] = {
        WHOLE(nvml_pci, abi_pci_info),
        MEMBER(nvml_pci, bus_id_legacy, abi_pci_info, bus_id_legacy),
        MEMBER(nvml_pci, domain, abi_pci_info, domain),
        MEMBER(nvml_pci, bus, abi_pci_info, bus),
        MEMBER(nvml_pci, device, abi_pci_info, device),
        MEMBER(nvml_pci, device_id, abi_pci_info, pci_device_id),
        MEMBER(nvml_pci, subsystem_id, abi_pci_info, pci_sub_system_id),
        MEMBER(nvml_pci, bus_id, abi_pci_info, bus_id),
        WHOLE(nvml_memory, abi_memory),
        MEMBER(nvml_memory, total, abi_memory, total),
        MEMBER(nvml_memory, free, abi_memory, free),
        MEMBER(nvml_memory, used, abi_memory, used),
        WHOLE(nvml_memory_v2, abi_memory_v2),
        MEMBER(nvml_memory_v2, version, abi_memory_v2, version),
        MEMBER(nvml_memory_v2, total, abi_memory_v2, total),
        MEMBER(nvml_memory_v2, reserved, abi_memory_v2, reserved),
        MEMBER(nvml_memory_v2, free, abi_memory_v2, free),
        MEMBER(nvml_memory_v2, used, abi_memory_v2, used),
        WHOLE(nvml_utilization, abi_utilization),
        MEMBER(nvml_utilization, gpu, abi_utilization, gpu),
        MEMBER(nvml_utilization, memory, abi_utilization, memory),
        WHOLE(nvml_event, abi_event_data),
        MEMBER(nvml_event, device, abi_event_data, device),
        MEMBER(nvml_event, type, abi_event_data, event_type),
        MEMBER(nvml_event, data, abi_event_data, event_data),
        MEMBER(nvml_event, gpu_instance, abi_event_data, gpu_instance_id),
        MEMBER(nvml_event, compute_instance, abi_event_data, compute_instance_id),
        WHOLE(nvml_attributes, abi_device_attributes),
        MEMBER(nvml_attributes, sm, abi_device_attributes, multiprocessor_count),
        MEMBER(nvml_attributes, copy, abi_device_attributes, shared_copy_engine_count),
        MEMBER(nvml_attributes, decoders, abi_device_attributes, shared_decoder_count),
        MEMBER(nvml_attributes, encoders, abi_device_attributes, shared_encoder_count),
        MEMBER(nvml_attributes, jpegs, abi_device_attributes, shared_jpeg_count),
        MEMBER(nvml_attributes, ofas, abi_device_attributes, shared_ofa_count),
        MEMBER(nvml_attributes, gpu_slices, abi_device_attributes, gpu_instance_slice_count),
        MEMBER(nvml_attributes, compute_slices, abi_device_attributes,
               compute_instance_slice_count),
        MEMBER(nvml_attributes, memory_mib, abi_device_attributes, memory_size_mb),
    };

    COMPARE(list);
}

#define PROFILE(our, their)                                                                        \
    MEMBER(nvml_gpu_profile, our, abi_gpu_instance_profile_info, their),                           \
        MEMBER(nvml_gpu_profile_v2, our, abi_gpu_instance_profile_info_v2, their)

static void test_gpu_instances(void **state) {
    static const struct layout list[] = {
        WHOLE(nvml_placement, abi_gpu_instance_placement),
        MEMBER(nvml_placement, start, abi_gpu_instance_placement, start),
        MEMBER(nvml_placement, size, abi_gpu_instance_placement, size),
        WHOLE(nvml_gpu_profile, abi_gpu_instance_profile_info),
        WHOLE(nvml_gpu_profile_v2, abi_gpu_instance_profile_info_v2),
        MEMBER(nvml_gpu_profile_v2, version, abi_gpu_instance_profile_info_v2, version),
        PROFILE(id, id),
        PROFILE(p2p, is_p2p_supported),
        PROFILE(slices, slice_count),
        PROFILE(instances, instance_count),
        PROFILE(sm, multiprocessor_count),
        PROFILE(copy, copy_engine_count),
        PROFILE(decoders, decoder_count),
        PROFILE(encoders, encoder_count),
        PROFILE(jpegs, jpeg_count),
        PROFILE(ofas, ofa_count),
        PROFILE(memory_mib, memory_size_mb),
        MEMBER(nvml_gpu_profile_v2, name, abi_gpu_instance_profile_info_v2, name),
        WHOLE(nvml_gpu_instance_info, abi_gpu_instance_info),
        MEMBER(nvml_gpu_instance_info, device, abi_gpu_instance_info, device),
        MEMBER(nvml_gpu_instance_info, id, abi_gpu_instance_info, id),
        MEMBER(nvml_gpu_instance_info, profile_id, abi_gpu_instance_info, profile_id),
        MEMBER(nvml_gpu_instance_info, placement, abi_gpu_instance_info, placement),
    };

    COMPARE(list);
}

#define COMPUTE(our, their)                                                                        \
    MEMBER(nvml_compute_profile, our, abi_compute_instance_profile_info, their)

static void test_compute_instances(void **state) {
    static const struct layout list[] = {
        WHOLE(nvml_placement, abi_compute_instance_placement),
        MEMBER(nvml_placement, start, abi_compute_instance_placement, start),
        MEMBER(nvml_placement, size, abi_compute_instance_placement, size),
        WHOLE(nvml_compute_profile, abi_compute_instance_profile_info),
        COMPUTE(id, id),
        COMPUTE(slices, slice_count),
        COMPUTE(instances, instance_count),
        COMPUTE(sm, multiprocessor_count),
        COMPUTE(copy, shared_copy_engine_count),
        COMPUTE(decoders, shared_decoder_count),
        COMPUTE(encoders, shared_encoder_count),
        COMPUTE(jpegs, shared_jpeg_count),
        COMPUTE(ofas, shared_ofa_count),
        WHOLE(nvml_compute_instance_info, abi_compute_instance_info),
        MEMBER(nvml_compute_instance_info, device, abi_compute_instance_info, device),
        MEMBER(nvml_compute_instance_info, gpu_instance, abi_compute_instance_info, gpu_instance),
        MEMBER(nvml_compute_instance_info, id, abi_compute_instance_info, id),
        MEMBER(nvml_compute_instance_info, profile_id, abi_compute_instance_info, profile_id),
        MEMBER(nvml_compute_instance_info, placement, abi_compute_instance_info, placement),
    };

    COMPARE(list);
}

static void test_gpm(void **state) {
    static const struct layout list[] = {
        WHOLE(nvml_gpm_support, abi_gpm_support),
        MEMBER(nvml_gpm_support, version, abi_gpm_support, version),
        MEMBER(nvml_gpm_support, supported, abi_gpm_support, is_supported_device),
        WHOLE(nvml_gpm_metric, abi_gpm_metric),
        MEMBER(nvml_gpm_metric, id, abi_gpm_metric, metric_id),
        MEMBER(nvml_gpm_metric, result, abi_gpm_metric, nvml_return),
        MEMBER(nvml_gpm_metric, value, abi_gpm_metric, value),
        MEMBER(nvml_gpm_metric, short_name, abi_gpm_metric, metric_info.short_name),
        MEMBER(nvml_gpm_metric, long_name, abi_gpm_metric, metric_info.long_name),
        MEMBER(nvml_gpm_metric, unit, abi_gpm_metric, metric_info.unit),
        MEMBER(nvml_gpm_metrics, version, abi_gpm_metrics_get, version),
        MEMBER(nvml_gpm_metrics, n, abi_gpm_metrics_get, num_metrics),
        MEMBER(nvml_gpm_metrics, first, abi_gpm_metrics_get, sample1),
        MEMBER(nvml_gpm_metrics, second, abi_gpm_metrics_get, sample2),
        MEMBER(nvml_gpm_metrics, v[1], abi_gpm_metrics_get, metrics[1]),
    };

    COMPARE(list);
    /* The library may write to as many entries as its version counts. */
    assert_true(sizeof(struct nvml_gpm_metrics) >= sizeof(struct abi_gpm_metrics_get));
}

#define SAME(our, their)                                                                           \
    {                                                                                              \
#our, our, their                                                                           \
    }

static void test_numbers(void **state) {
    static const struct {
        const char *name;
        unsigned long long ours, theirs;
    } list[] = {
        SAME(NVML_SUCCESS, ABI_SUCCESS),
        SAME(NVML_UNINITIALIZED, ABI_UNINITIALIZED),
        SAME(NVML_INVALID_ARGUMENT, ABI_INVALID_ARGUMENT),
        SAME(NVML_NOT_SUPPORTED, ABI_NOT_SUPPORTED),
        SAME(NVML_NO_PERMISSION, ABI_NO_PERMISSION),
        SAME(NVML_NOT_FOUND, ABI_NOT_FOUND),
        SAME(NVML_INSUFFICIENT_SIZE, ABI_INSUFFICIENT_SIZE),
        SAME(NVML_DRIVER_NOT_LOADED, ABI_DRIVER_NOT_LOADED),
        SAME(NVML_TIMEOUT, ABI_TIMEOUT),
        SAME(NVML_LIBRARY_NOT_FOUND, ABI_LIBRARY_NOT_FOUND),
        SAME(NVML_FUNCTION_NOT_FOUND, ABI_FUNCTION_NOT_FOUND),
        SAME(NVML_GPU_IS_LOST, ABI_GPU_IS_LOST),
        SAME(NVML_RESET_REQUIRED, ABI_RESET_REQUIRED),
        SAME(NVML_LIB_RM_VERSION_MISMATCH, ABI_LIB_RM_VERSION_MISMATCH),
        SAME(NVML_IN_USE, ABI_IN_USE),
        SAME(NVML_INSUFFICIENT_RESOURCES, ABI_INSUFFICIENT_RESOURCES),
        SAME(NVML_ARGUMENT_VERSION_MISMATCH, ABI_ARGUMENT_VERSION_MISMATCH),
        SAME(NVML_GPU_NOT_FOUND, ABI_GPU_NOT_FOUND),
        SAME(NVML_UNKNOWN, ABI_UNKNOWN),
        SAME(NVML_INIT_NO_GPUS, ABI_INIT_FLAG_NO_GPUS),
        SAME(NVML_TEXT, ABI_DEVICE_UUID_V2_BUFFER_SIZE),
        SAME(NVML_GPU_PROFILE_COUNT, ABI_GPU_INSTANCE_PROFILE_COUNT),
        SAME(NVML_CI_PROFILE_COUNT, ABI_COMPUTE_INSTANCE_PROFILE_COUNT),
        SAME(NVML_CI_ENGINE_SHARED, ABI_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED),
        SAME(NVML_TEMPERATURE_GPU, ABI_TEMPERATURE_GPU),
        SAME(NVML_CLOCK_SM, ABI_CLOCK_SM),
        SAME(NVML_CLOCK_MEM, ABI_CLOCK_MEM),
        SAME(NVML_EVENT_XID, ABI_EVENT_XID_CRITICAL_ERROR),
        SAME(NVML_EVENT_MIG_CONFIG, ABI_EVENT_MIG_CONFIG_CHANGE),
        SAME(NVML_GPM_GRAPHICS_UTIL, ABI_GPM_METRIC_GRAPHICS_UTIL),
        SAME(NVML_WHOLE_GPU, ABI_NO_INSTANCE),
        SAME(NVML_STRUCT_VERSION(struct nvml_memory_v2, 2), ABI_MEMORY_V2),
        SAME(NVML_STRUCT_VERSION(struct nvml_gpu_profile_v2, 2), ABI_GPU_INSTANCE_PROFILE_INFO_V2),
        /* As published bindings of other languages have them. */
        SAME(NVML_STRUCT_VERSION(struct nvml_memory_v2, 2), 0x02000028),
        SAME(NVML_STRUCT_VERSION(struct nvml_gpu_profile_v2, 2), 0x02000098),
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (list[i].ours != list[i].theirs) {
            print_error("%s: ours %llu, theirs %llu\n", list[i].name, list[i].ours, list[i].theirs);
            fail();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_gpu_instances),
        cmocka_unit_test(test_compute_instances),
        cmocka_unit_test(test_gpm),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

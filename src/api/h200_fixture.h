/*
 * h200_fixture: for tests: the GPU instance profiles of an H200 (141 GB) as NVML tells them, one initializer each, so
 * that a test has as many of them as it wants:   static struct gpu_profile profiles[] = {H200_1G_18GB, H200_7G_141GB};
 * and a card with them, which is whole, empty, and not measured.
 */
#ifndef BERTH_API_H200_FIXTURE_H
#define BERTH_API_H200_FIXTURE_H

#include "api/inventory.h"

#define H200_PROFILE(name_, resource_, ...)                                                        \
    { .name = STR(name_), .resource = STR("nvidia.com/mig-" resource_), __VA_ARGS__ }

#define H200_1G_18GB                                                                               \
    H200_PROFILE("1g.18gb", "1g.18gb", .id = 19, .size = 1, .compute_slices = 1,                   \
                 .memory_mib = 16384, .max_instances = 7, .starts = 0x7f)
#define H200_1G_18GB_ME                                                                            \
    H200_PROFILE("1g.18gb+me", "1g.18gb.me", .id = 20, .size = 1, .compute_slices = 1,             \
                 .memory_mib = 16384, .max_instances = 1, .starts = 0x7f, .media = true)
#define H200_1G_35GB                                                                               \
    H200_PROFILE("1g.35gb", "1g.35gb", .id = 15, .size = 2, .compute_slices = 1,                   \
                 .memory_mib = 33280, .max_instances = 4, .starts = 0x55)
#define H200_2G_35GB                                                                               \
    H200_PROFILE("2g.35gb", "2g.35gb", .id = 14, .size = 2, .compute_slices = 2,                   \
                 .memory_mib = 33280, .max_instances = 3, .starts = 0x15)
#define H200_3G_71GB                                                                               \
    H200_PROFILE("3g.71gb", "3g.71gb", .id = 9, .size = 4, .compute_slices = 3,                    \
                 .memory_mib = 71168, .max_instances = 2, .starts = 0x11)
#define H200_4G_71GB                                                                               \
    H200_PROFILE("4g.71gb", "4g.71gb", .id = 5, .size = 4, .compute_slices = 4,                    \
                 .memory_mib = 71168, .max_instances = 1, .starts = 0x01)
#define H200_7G_141GB                                                                              \
    H200_PROFILE("7g.141gb", "7g.141gb", .id = 0, .size = 8, .compute_slices = 7,                  \
                 .memory_mib = 143360, .max_instances = 1, .starts = 0x01)

static inline struct gpu_card h200_card(const char *uuid, int32_t index,
                                        struct gpu_profile *profiles, size_t n) {
    return (struct gpu_card){.uuid = str_of(uuid),
                             .model = STR("NVIDIA H200"),
                             .index = index,
                             .memory_mib = 144384,
                             .slices = 8,
                             .mig_enabled = true,
                             .mig_managed = true,
                             .healthy = true,
                             .profiles = profiles,
                             .n_profiles = n,
                             .utilization_pct = -1,
                             .temperature_c = -1,
                             .power_mw = -1,
                             .memory_used_mib = -1};
}

#endif

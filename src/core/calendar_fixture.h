/* calendar_fixture: cards as H200 has them, and short ways to ask, for tests and the benchmark of the calendar. */
#ifndef BERTH_CORE_CALENDAR_FIXTURE_H
#define BERTH_CORE_CALENDAR_FIXTURE_H

#include <stdio.h>

#include "core/calendar.h"

#define MIG(name) "nvidia.com/mig-" name

static const struct gpu_profile H200[] = {
    {.name = {"1g.18gb", 7}, .resource = {MIG("1g.18gb"), 22}, .size = 1, .compute_slices = 1,
     .max_instances = 7, .starts = 0x7f},
    {.name = {"1g.35gb", 7}, .resource = {MIG("1g.35gb"), 22}, .size = 2, .compute_slices = 1,
     .max_instances = 4, .starts = 0x55},
    {.name = {"2g.35gb", 7}, .resource = {MIG("2g.35gb"), 22}, .size = 2, .compute_slices = 2,
     .max_instances = 3, .starts = 0x15},
    {.name = {"3g.71gb", 7}, .resource = {MIG("3g.71gb"), 22}, .size = 4, .compute_slices = 3,
     .max_instances = 2, .starts = 0x11},
    {.name = {"4g.71gb", 7}, .resource = {MIG("4g.71gb"), 22}, .size = 4, .compute_slices = 4,
     .max_instances = 1, .starts = 0x01},
    {.name = {"7g.141gb", 8}, .resource = {MIG("7g.141gb"), 23}, .size = 8, .compute_slices = 7,
     .max_instances = 1, .starts = 0x01},
    {.name = {"1g.18gb+me", 10}, .resource = {MIG("1g.18gb.me"), 25}, .size = 1,
     .compute_slices = 1, .max_instances = 1, .starts = 0x7f, .media = true},
};
enum { H200_PROFILES = 7, H200_PLAIN = 6 };

/* A card of node n<node>: "GPU-<node>-<index>", all profiles, dynamic. */
__attribute__((unused)) static struct calendar_card h200(char buf[48], int node, int index,
                                                         int32_t reconfig_s) {
    int n = snprintf(buf, 24, "n%03d", node);
    int m = snprintf(buf + 24, 24, "GPU-%d-%d", node, index);
    return (struct calendar_card){.node = str_from(buf, (size_t)n),
                                  .uuid = str_from(buf + 24, (size_t)m),
                                  .flavor = STR("h200"),
                                  .index = index,
                                  .profiles = H200,
                                  .n_profiles = H200_PROFILES,
                                  .slices = 8,
                                  .dynamic = true,
                                  .reconfig_s = reconfig_s};
}

#endif

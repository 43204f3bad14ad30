/* calendar_fixture: cards as H200 has them, and short ways to ask, for tests and the benchmark of the calendar. */
#ifndef BERTH_CORE_CALENDAR_FIXTURE_H
#define BERTH_CORE_CALENDAR_FIXTURE_H

#include <stdio.h>

#include "api/h200_fixture.h"
#include "core/calendar/calendar.h"

#define MIG(name) "nvidia.com/mig-" name

static const struct gpu_profile H200[] = {
    H200_1G_18GB, H200_1G_35GB,  H200_2G_35GB,    H200_3G_71GB,
    H200_4G_71GB, H200_7G_141GB, H200_1G_18GB_ME,
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

/*
 * metric_name: names of metrics by the place of their trigger.
 */
#include "core/scale/metric_name.h"

struct str metric_name(struct arena *a, int64_t trigger, struct str part) {
    struct str name = arena_f(a, "s%lld-%.*s", (long long)trigger, STR_ARG(part));
    char *p = (char *)name.p; /* made just now */
    for (size_t i = name.n - part.n; name.n > part.n && i < name.n; i++) {
        p[i] = memchr("/.:%()", p[i], 6) != NULL ? '-' : p[i];
    }
    return name;
}

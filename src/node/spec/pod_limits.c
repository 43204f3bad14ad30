/* pod_limits: see pod_limits.h. */
#include "node/spec/pod_limits.h"

#include <fcntl.h>
#include <unistd.h>

#include "wire/text/quantity.h"

enum { PIDS_MAX = 4096, PIDS_FIRST = 512, PIDS_OF_CPU = 64, PIDS_KEEP_PART = 4, KEEP_PART = 8 };

/* Processes that the kernel can have at all: podman lowers its own limit to that. */
int64_t pod_pids_of_machine(void) {
    char text[32];
    uint64_t most;
    int fd = open("/proc/sys/kernel/pid_max", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? read(fd, text, sizeof(text)) : -1;

    if (fd != -1) {
        close(fd);
    }
    return n > 0 && str_to_u64(str_trim(str_from(text, (size_t)n)), &most) ? (int64_t)most
                                                                           : PIDS_MAX;
}

/* The pod's limit is the sum of its containers', when each has one. */
int64_t pod_limit(yyjson_val *pod, struct str resource, bool milli) {
    yyjson_arr_iter it;
    yyjson_val *c;
    int64_t sum = 0;

    yyjson_arr_iter_init(json_path(pod, "spec.containers"), &it);
    while ((c = yyjson_arr_iter_next(&it))) {
        struct quantity q;
        struct str text = json_str(json_get(json_path(c, "resources.limits"), resource));
        if (str_empty(text) || quantity_parse(text, &q, NULL)) {
            return 0;
        }
        int64_t n = milli ? quantity_milli(q) : quantity_value(q);
        if (__builtin_add_overflow(sum, n, &sum)) {
            return 0;
        }
    }
    return sum;
}

/* Processes and threads of one pod: as many as its machine's processors can have a use for. */
int64_t pod_pids_most(void) {
    int64_t n = PIDS_FIRST + PIDS_OF_CPU * (int64_t)sysconf(_SC_NPROCESSORS_ONLN);

    return n < PIDS_MAX ? n : PIDS_MAX;
}

/* Of all pods: never so many that the machine can start nothing. */
int64_t pod_pids_of_all(void) {
    int64_t n = pod_pids_of_machine();

    return n - n / PIDS_KEEP_PART;
}

/* Memory of a pod that says no limit: an eighth of the machine is left for what keeps it running. */
int64_t pod_memory_most(void) {
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    return all - all / KEEP_PART;
}

/* metrics: see metrics.h. Gauges are set when somebody asks, by a collector. */
#include "site/metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

struct metrics {
    struct prom *prom;
    const struct mirror *mirror;
    struct prom_family *objects;
    struct prom_series *resident, *cpu, *fds;
    double cpu_before;
};

static double resident_bytes(void) {
    char text[128];
    int64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return 0;
    }
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    struct str size, rest, second, unused;
    if (n > 0 && str_cut(str_from(text, (size_t)n), ' ', &size, &rest)) {
        str_cut(rest, ' ', &second, &unused);
        str_to_i64(second, &pages);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double open_fds(void) {
    DIR *d = opendir("/proc/self/fd");
    double n = -3; /* ".", ".." and this one */
    while (d && readdir(d)) {
        n++;
    }
    if (d) {
        closedir(d);
    }
    return n < 0 ? 0 : n;
}

static double cpu_seconds(void) {
    struct rusage u;
    if (getrusage(RUSAGE_SELF, &u) != 0) {
        return 0;
    }
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void collect_objects(struct metrics *m) {
    size_t n;
    char name[300];
    const struct kind *const *kinds = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        const struct kind *k = kinds[i];
        if ((k->flags & (KIND_VIRTUAL | KIND_COMPUTED)) || kind_stored(k) != k) {
            continue;
        }
        snprintf(name, sizeof name, "%s%s%s", k->plural, *k->group ? "." : "", k->group);
        prom_set(prom_with(m->objects, name), (double)mirror_count(m->mirror, k));
    }
}

static void collect(void *ctx) {
    struct metrics *m = ctx;
    double cpu = cpu_seconds();
    prom_set(m->resident, resident_bytes());
    prom_set(m->fds, open_fds());
    prom_add(m->cpu, cpu > m->cpu_before ? cpu - m->cpu_before : 0);
    m->cpu_before = cpu;
    if (m->mirror) {
        collect_objects(m);
    }
}

static struct prom_series *single(struct prom *p, enum prom_type type, const char *name,
                                  const char *help) {
    return prom_series(prom_family(p, type, name, help, NULL, 0), NULL);
}

struct metrics *metrics_new(const struct mirror *mirror, struct clock *clock) {
    static const char *const resource[] = {"resource"};
    struct metrics *m = mem_zalloc(sizeof *m);
    struct prom *p = m ? prom_new() : NULL;
    if (p == NULL || prom_collector(p, collect, m) != 0) {
        prom_free(p);
        mem_free(m);
        return NULL;
    }
    m->prom = p;
    m->mirror = mirror;
    m->resident =
        single(p, PROM_GAUGE, "process_resident_memory_bytes", "Resident memory size in bytes.");
    m->cpu = single(p, PROM_COUNTER, "process_cpu_seconds_total",
                    "Total user and system CPU time spent in seconds.");
    m->fds = single(p, PROM_GAUGE, "process_open_fds", "Number of open file descriptors.");
    prom_set(single(p, PROM_GAUGE, "process_start_time_seconds",
                    "Start time of the process since unix epoch in seconds."),
             (double)clock_wall(clock) / 1e9);
    if (mirror) {
        m->objects = prom_family(p, PROM_GAUGE, "apiserver_storage_objects",
                                 "Number of stored objects by resource.", resource, 1);
    }
    return m;
}

void metrics_free(struct metrics *m) {
    if (m) {
        prom_free(m->prom);
        mem_free(m);
    }
}

struct prom *metrics_prom(struct metrics *m) {
    return m->prom;
}

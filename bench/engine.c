/*
 * bench-engine: the queue engine alone, on one core: decisions per second, latencies, memory per workload, and how each
 * grows with the size of the load.   bench-engine [--quick] [LOAD...]
 *
 * Each load at each size runs in a process of its own. What counts, and what time is, is said in engine_drive.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_loads.h"

enum { SECONDS_MAX = 150 };

/* Runs it in a child; false when that dies or does not end. */
static bool run_apart(const struct load *l, size_t size, struct figures *ret) {
    int fds[2], status = 0;
    if (pipe(fds) != 0) {
        return false;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct figures f;
        close(fds[0]);
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = SECONDS_MAX}, NULL);
        l->run(size, &f);
        _exit(write(fds[1], &f, sizeof(f)) == (ssize_t)sizeof(f) ? 0 : 1);
    }
    close(fds[1]);
    bool ok = pid > 0 && read(fds[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
    close(fds[0]);
    if (pid > 0) {
        waitpid(pid, &status, 0);
    }
    return ok && status == 0;
}

static double decisions(const struct figures *f) {
    return (double)(f->admissions + f->preemptions + f->refusals);
}

/* k of y = c * size^k, least squares over the logarithms; NAN when there are fewer than two points. */
static double exponent(const struct figures *f, size_t n, double (*y)(const struct figures *f)) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0, m = 0;
    for (size_t i = 0; i < n; i++) {
        double v = y(&f[i]);
        if (v > 0) {
            double a = log((double)f[i].size), b = log(v);
            sx += a;
            sy += b;
            sxx += a * a;
            sxy += a * b;
            m++;
        }
    }
    return m < 2 ? NAN : (m * sxy - sx * sy) / (m * sxx - sx * sx);
}

static double time_each(const struct figures *f) {
    return f->seconds / decisions(f);
}

static double event_99(const struct figures *f) {
    return (double)f->event_99;
}

static double longest(const struct figures *f) {
    return (double)f->longest;
}

static double bytes(const struct figures *f) {
    return f->bytes;
}

static void print_row(const struct figures *f) {
    printf("%9zu %9llu %8llu %9llu %10.0f  %6.1f %7.1f %8.0f  %7.2f %7.2f %7.2f  %8.2f %7.0f %8.0f",
           f->size, (unsigned long long)f->admissions, (unsigned long long)f->preemptions,
           (unsigned long long)f->refusals, decisions(f) / f->seconds, (double)f->each_50 / 1e3,
           (double)f->each_99 / 1e3, (double)f->each_max / 1e3, (double)f->event_50 / 1e6,
           (double)f->event_99 / 1e6, (double)f->event_max / 1e6, (double)f->longest / 1e6,
           f->bytes, f->resident / (1 << 20));
    if (f->floor > 0) {
        printf("   floor %.0f/s: %.3f of it", decisions(f) / f->floor, f->floor / f->seconds);
    }
    printf("\n");
}

static bool print_load(const struct load *l, bool quick) {
    struct figures f[SIZES_MAX];
    size_t n = 0;
    bool ok = true;
    printf("\n%s: %s %s\n", l->name, l->unit, l->what);
    printf("%9s %9s %8s %9s %10s  %23s  %23s  %8s %7s %8s\n", l->unit, "admitted", "preempt",
           "refused", "decided/s", "each: p50 p99 max us", "event: p50 p99 max ms", "call ms",
           "B each", "MiB all");
    for (size_t i = 0; i < SIZES_MAX - (quick ? 2 : 0); i++) {
        if (run_apart(l, l->sizes[i], &f[n])) {
            print_row(&f[n++]);
        } else {
            printf("%9zu did not end in %d s of the processor, or failed\n", l->sizes[i],
                   SECONDS_MAX);
            ok = false;
        }
    }
    printf("grows as size^k: time of a decision k = %.2f, event p99 k = %.2f, longest call k = "
           "%.2f, memory of a workload k = %.2f\n",
           exponent(f, n, time_each), exponent(f, n, event_99), exponent(f, n, longest),
           exponent(f, n, bytes));
    return ok;
}

int main(int argc, char **argv) {
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0, ok = true;
    int first = quick ? 2 : 1;
    printf("A decision is an admission, a preemption, or a head looked at and refused. Time is the "
           "processor's.\n"
           "each: an engine_run over the decisions it made; event: from an event to the first "
           "decision it causes;\n"
           "call: the longest engine_run; B each: resident memory of a workload.\n"
           "Bounds: a call has the controllers' budget of %d heads; %d holders that a search for "
           "victims looks at cost one,\n"
           "as do %d queues of the tree that it is in, %d nodes looked at for a place, and %d "
           "queues or cohorts settled.\n",
           ENGINE_BUDGET, ENGINE_HOLDERS_A_HEAD, ENGINE_QUEUES_A_HEAD, ENGINE_NODES_A_HEAD,
           ENGINE_SETTLED_A_HEAD);
    for (size_t i = 0; i < n_loads; i++) {
        bool named = first >= argc;
        for (int k = first; k < argc; k++) {
            named = named || strcmp(argv[k], loads[i].name) == 0;
        }
        ok = (!named || print_load(&loads[i], quick)) && ok;
    }
    return ok ? 0 : 1;
}

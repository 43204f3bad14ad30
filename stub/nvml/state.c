/* state: the simulated driver's memory: the file, its lock, the faults that are injected, handles,
 * load. See sim.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

#define SIM_MAGIC 0xBE47002u

struct sim_state sim;
const struct sim_board *sim_gpu_board;

static unsigned inits, late_ms; /* late_ms: how long the call that runs sleeps after it has acted */
static int state_fd = -1;
static struct sim_handle devices[SIM_GPUS], migs[SIM_GPUS][SIM_MIG], gis[SIM_GPUS][SIM_INSTANCES],
    cis[SIM_GPUS][SIM_MIG];

uint64_t sim_now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64: enough to make names that do not repeat. */
static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void sim_uuid(char out[48], const char *prefix, uint64_t a, uint64_t b) {
    uint64_t hi = mix(sim.seed ^ mix(a)), lo = mix(hi ^ mix(b + 1));

    snprintf(out, 48, "%s-%08x-%04x-%04x-%04x-%012llx", prefix, (unsigned)(hi >> 32),
             (unsigned)(hi >> 16) & 0xffff, (unsigned)hi & 0xffff, (unsigned)(lo >> 48),
             (unsigned long long)(lo & 0xffffffffffffu));
}

unsigned sim_load(const struct sim_gpu *g) {
    unsigned slices = 0;

    if (!g->mig) {
        return g->held ? 1000 : 0;
    }
    for (unsigned i = 0; i < SIM_MIG; i++) {
        for (unsigned j = 0; g->ci[i].used && j < SIM_INSTANCES; j++) {
            if (g->gi[j].used && g->gi[j].id == g->ci[i].gi) {
                slices += g->gi[j].size;
            }
        }
    }
    return slices >= sim_gpu_board->slices ? 1000 : slices * 1000 / sim_gpu_board->slices;
}

unsigned sim_power_mw(const struct sim_gpu *g, unsigned gpu) {
    const struct sim_board *b = sim_gpu_board;
    /* A wobble of one percent, so that a graph of it is alive; the same for equal second and GPU.
     */
    unsigned wobble = (unsigned)(mix(sim_now_ns() / 1000000000u + gpu * 977u) % 21);
    unsigned mw = b->idle_mw + (b->busy_mw - b->idle_mw) / 1000 * sim_load(g) * 92 / 100;

    return mw / 1000 * (990 + wobble);
}

/* Energy is power over time: brought up to date before anything changes. */
static void integrate(void) {
    uint64_t now = sim_now_ns();

    for (unsigned i = 0; i < SIM_GPUS; i++) {
        struct sim_gpu *g = &sim.gpu[i];
        if (g->energy_at_ns && now > g->energy_at_ns) {
            g->energy_uj += (now - g->energy_at_ns) / 1000000u * sim_power_mw(g, i);
        }
        g->energy_at_ns = now;
    }
}

static void fresh(const char *spec) {
    memset(&sim, 0, sizeof(sim));
    sim.magic = SIM_MAGIC;
    snprintf(sim.spec, sizeof(sim.spec), "%s", spec);
    if (getrandom(&sim.seed, sizeof(sim.seed), 0) != sizeof(sim.seed)) {
        sim.seed = sim_now_ns();
    }
    sim.present = (1u << sim_gpu_board->gpus) - 1;
    for (unsigned i = 0; i < SIM_GPUS; i++) {
        sim.gpu[i].mig = sim.gpu[i].mig_pending = 1;
    }
}

static void add_event(unsigned gpu, unsigned xid, unsigned gi) {
    struct sim_event *e = &sim.events[sim.events_next % SIM_EVENTS];

    *e = (struct sim_event){.gpu = gpu, .gi = gi, .xid = xid, .serial = sim.events_next++};
    if (xid == 79) { /* "fallen off the bus" */
        sim.gpu[gpu].lost = 1;
    }
}

static void apply_fault(const char *line) {
    unsigned a = 0, b = 0, gi = ABI_NO_INSTANCE;
    char call[64] = "";

    if (sscanf(line, "xid %u %u %u", &a, &b, &gi) >= 2 && a < SIM_GPUS) {
        add_event(a, b, gi);
    } else if (sscanf(line, "lost %u", &a) == 1 && a < SIM_GPUS) {
        sim.gpu[a].lost = 1;
    } else if (sscanf(line, "found %u", &a) == 1 && a < SIM_GPUS) {
        sim.gpu[a].lost = 0;
    } else if (sscanf(line, "gone %u", &a) == 1 && a < SIM_GPUS) {
        sim.present &= ~(1u << a);
        memset(sim.gpu[a].gi, 0, sizeof(sim.gpu[a].gi));
        memset(sim.gpu[a].ci, 0, sizeof(sim.gpu[a].ci));
    } else if (sscanf(line, "come %u", &a) == 1 && a < SIM_GPUS) {
        sim.present |= 1u << a;
    } else if (sscanf(line, "slow %u", &a) == 1) {
        sim.slow_ms = a;
    } else if (sscanf(line, "late %63s %u", call, &a) == 2) {
        memcpy(sim.late_call, call, sizeof(sim.late_call));
        sim.late_ms = a;
    } else if (sscanf(line, "astray %u", &a) == 1) {
        sim.astray_ms = a;
    } else if (sscanf(line, "held %u %u", &a, &b) == 2 && a < SIM_GPUS) {
        for (unsigned i = 0; i < SIM_MIG; i++) {
            sim.gpu[a].ci[i].held = sim.gpu[a].ci[i].used ? b : 0;
        }
    }
}

static void read_faults(void) {
    const char *state = getenv("BERTH_SIM_STATE");
    char path[4096], line[128];

    if (state == NULL || (size_t)snprintf(path, sizeof(path), "%s.faults", state) >= sizeof(path)) {
        return;
    }
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return;
    }
    unlink(path);
    while (fgets(line, sizeof(line), f)) {
        apply_fault(line);
    }
    fclose(f);
}

/* Reads the state under its lock; a missing, short or foreign file begins anew. */
static int load(void) {
    const char *spec = getenv("BERTH_SIM_GPUS"), *path = getenv("BERTH_SIM_STATE");

    sim_gpu_board = sim_board(spec);
    if (sim_gpu_board == NULL) {
        return ABI_DRIVER_NOT_LOADED;
    }
    if (path && state_fd == -1) {
        state_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (state_fd == -1) {
            return ABI_NO_PERMISSION;
        }
    }
    if (state_fd != -1) {
        while (flock(state_fd, LOCK_EX) == -1 && errno == EINTR) {
        }
        if (pread(state_fd, &sim, sizeof(sim), 0) != (ssize_t)sizeof(sim)) {
            sim.magic = 0;
        }
    }
    if (sim.magic != SIM_MAGIC || strcmp(sim.spec, spec) != 0) {
        fresh(spec);
    }
    integrate();
    read_faults();
    if (sim.astray.due_ns && sim_now_ns() >= sim.astray.due_ns) {
        const struct sim_profile *p = sim_profile(sim_gpu_board, sim.astray.profile);
        unsigned row;
        sim.astray.due_ns = 0;
        sim_gi_make(&sim.gpu[sim.astray.gpu], p, sim.astray.start,
                    &row); /* or the place is taken */
    }
    return 0;
}

void sim_sleep_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) == -1 && errno == EINTR) {
    }
}

int sim_end(int result) {
    unsigned late = late_ms;

    late_ms = 0;
    if (state_fd != -1) {
        if (pwrite(state_fd, &sim, sizeof(sim), 0) != (ssize_t)sizeof(sim)) {
            result = ABI_UNKNOWN;
        }
        flock(state_fd, LOCK_UN);
    }
    sim_sleep_ms(late);
    return result;
}

static bool missing(const char *what) {
    const char *p = getenv("BERTH_SIM_MISSING");
    size_t n = strlen(what);

    for (; p && *p; p += strcspn(p, ","), p += *p == ',') {
        if (strcspn(p, ",") == n && !strncmp(p, what, n)) {
            return true;
        }
    }
    return false;
}

int sim_begin(const char *what) {
    if (inits == 0) {
        return ABI_UNINITIALIZED;
    }
    if (missing(what)) {
        return ABI_FUNCTION_NOT_FOUND;
    }
    int r = load();
    if (r == 0 && sim.slow_ms) {
        unsigned ms = sim.slow_ms;
        sim_end(0);
        sim_sleep_ms(ms);
        r = load();
    }
    if (r == 0 && sim.late_ms && !strcmp(sim.late_call, what)) {
        late_ms = sim.late_ms; /* of this call alone */
        sim.late_ms = 0;
    }
    return r;
}

SIM_CALL(InitWithFlags, unsigned flags) {
    (void)flags;
    int r = load();
    if (r) {
        return r;
    }
    inits++;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(Init_v2, void) {
    return nvmlInitWithFlags(0);
}

SIM_CALL(Shutdown, void) {
    if (inits == 0) {
        return ABI_UNINITIALIZED;
    }
    if (--inits == 0 && state_fd != -1) {
        close(state_fd);
        state_fd = -1;
    }
    return ABI_SUCCESS;
}

/* ---- handles ---- */

static struct sim_handle *handle(struct sim_handle *h, enum sim_kind kind, unsigned gpu,
                                 unsigned row) {
    *h = (struct sim_handle){kind, gpu, row};
    return h;
}

unsigned sim_gpu_at(unsigned index) {
    unsigned gpu = 0;

    while (gpu < SIM_GPUS && (!(sim.present & (1u << gpu)) || index-- > 0)) {
        gpu++;
    }
    return gpu;
}

struct sim_handle *sim_device_handle(unsigned gpu) {
    return handle(&devices[gpu], SIM_DEVICE, gpu, 0);
}
struct sim_handle *sim_mig_handle(unsigned gpu, unsigned row) {
    return handle(&migs[gpu][row], SIM_MIG_DEVICE, gpu, row);
}
struct sim_handle *sim_gi_handle(unsigned gpu, unsigned row) {
    return handle(&gis[gpu][row], SIM_GI, gpu, row);
}
struct sim_handle *sim_ci_handle(unsigned gpu, unsigned row) {
    return handle(&cis[gpu][row], SIM_CI, gpu, row);
}

static const struct sim_handle *live(void *p, enum sim_kind kind) {
    const struct sim_handle *h = p;

    return h && h->kind == kind && (sim.present & (1u << h->gpu)) ? h : NULL;
}

struct sim_gpu *sim_gpu_of(void *p, int *ret_result) {
    const struct sim_handle *h = live(p, SIM_DEVICE);

    if (h == NULL) {
        *ret_result = ABI_INVALID_ARGUMENT;
        return NULL;
    }
    if (sim.gpu[h->gpu].lost) {
        *ret_result = ABI_GPU_IS_LOST;
        return NULL;
    }
    return &sim.gpu[h->gpu];
}

struct sim_ci *sim_mig_of(void *p, unsigned *ret_gpu) {
    const struct sim_handle *h = live(p, SIM_MIG_DEVICE);

    if (h == NULL) {
        h = live(p, SIM_CI);
    }
    if (h == NULL || !sim.gpu[h->gpu].ci[h->row].used) {
        return NULL;
    }
    *ret_gpu = h->gpu;
    return &sim.gpu[h->gpu].ci[h->row];
}

struct sim_gi *sim_gi_of(void *p, unsigned *ret_gpu) {
    const struct sim_handle *h = live(p, SIM_GI);

    if (h == NULL || !sim.gpu[h->gpu].gi[h->row].used) {
        return NULL;
    }
    *ret_gpu = h->gpu;
    return &sim.gpu[h->gpu].gi[h->row];
}

struct sim_gi *sim_gi_by_id(struct sim_gpu *g, unsigned id) {
    for (unsigned i = 0; i < SIM_INSTANCES; i++) {
        if (g->gi[i].used && g->gi[i].id == id) {
            return &g->gi[i];
        }
    }
    return NULL;
}

int sim_text(char *out, unsigned n, const char *text) {
    size_t need = strlen(text) + 1;

    if (out == NULL) {
        return ABI_INVALID_ARGUMENT;
    }
    if (n < need) {
        return ABI_INSUFFICIENT_SIZE;
    }
    memcpy(out, text, need);
    return ABI_SUCCESS;
}

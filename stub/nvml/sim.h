/*
 * sim: a simulated NVIDIA driver behind the real library's binary interface.
 *
 * What a kernel driver would hold (MIG mode, instances, energy, Xids) lies in one state file, so
 * that it outlives the processes that open the library, as it would in a driver; every call locks
 * the file, changes a copy and writes it back whole. Without BERTH_SIM_STATE the state is the
 * process's own.
 *
 *     BERTH_SIM_GPUS     8xh200, 1xh200 or 4xa100-80gb
 * BERTH_SIM_STATE    path of the state file; BERTH_SIM_STATE.faults, when it appears, is read once
 * and removed: lines "xid GPU CODE [GI]", "lost GPU", "found GPU", "slow MS", "held GPU 0|1",
 * "gone GPU", "come GPU" (taken out, put in: the calls count what is there, where a real library counts once),
 * "late CALL MS" (the next CALL acts at once and answers MS later), "astray MS" (the next creation of a
 * GPU instance never answers, and the instance appears MS later, whatever became of the caller)
 * BERTH_SIM_MISSING  names of calls, separated by commas, that answer FUNCTION_NOT_FOUND, as an old
 * driver does
 *
 * A GPU instance and its compute instances are rows of small tables; a handle is the address of a
 * row's twin in this process and says only which row it means.
 */
#ifndef BERTH_STUB_SIM_H
#define BERTH_STUB_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

enum {
    SIM_GPUS = 8,
    SIM_INSTANCES = 8, /* GPU instances of one GPU: at most one per memory slice */
    SIM_MIG = 7,       /* compute instances, which are the MIG devices, of one GPU */
    SIM_EVENTS = 16,
    SIM_PROFILES = 7,
};

struct sim_profile {
    unsigned query, id, compute, size, instances;
    uint32_t starts;
    unsigned memory_mib, sm, copy, decoders, encoders, jpegs, ofas;
    bool media;
    const char *name;
};

struct sim_board {
    const char *spec, *name;
    unsigned pci_id, gpus, slices, compute_major;
    unsigned memory_mib;
    unsigned idle_mw, busy_mw, idle_mhz, busy_mhz, memory_mhz;
    bool gpm;          /* answers per GPU instance (Hopper and later) */
    bool mode_at_once; /* a MIG mode change needs no reset */
    struct sim_profile profiles[SIM_PROFILES];
};

const struct sim_board *sim_board(const char *spec); /* NULL: no such */
const struct sim_profile *sim_profile(const struct sim_board *b, unsigned id);

struct sim_gi {
    uint32_t used, id, profile, start, size;
};
struct sim_ci {
    uint32_t used, gi, id, profile, start, size;
    uint32_t held; /* processes that use it */
    char uuid[48];
};
struct sim_event {
    uint32_t gpu, gi, xid;
    uint64_t serial;
};
struct sim_gpu {
    uint32_t mig, mig_pending, lost;
    uint32_t held; /* processes that use the whole GPU */
    uint64_t energy_uj, energy_at_ns;
    struct sim_gi gi[SIM_INSTANCES];
    struct sim_ci ci[SIM_MIG];
};
/* A GPU instance that a call left behind on its way. */
struct sim_astray {
    uint64_t due_ns; /* 0: none */
    uint32_t gpu, profile, start;
};
struct sim_state {
    uint32_t magic, slow_ms, late_ms, astray_ms;
    uint32_t present; /* bit i: GPU i is in the machine */
    char late_call[64];
    struct sim_astray astray;
    uint64_t seed, serial; /* of the next UUID */
    uint64_t events_next;
    char spec[32];
    struct sim_event events[SIM_EVENTS];
    struct sim_gpu gpu[SIM_GPUS];
};

/* A handle: which row it means. kind tells them apart, since NVML's handles are bare pointers. */
enum sim_kind { SIM_DEVICE = 0x51e1, SIM_MIG_DEVICE, SIM_GI, SIM_CI };
struct sim_handle {
    enum sim_kind kind;
    unsigned gpu, row;
};

/*
 * Every exported call begins with sim_begin, which locks and reads the state, applies faults and
 * answers what the call must return at once (UNINITIALIZED, FUNCTION_NOT_FOUND, GPU_IS_LOST ...),
 * and ends with sim_end, which writes and unlocks. `what` is the call's name. After a failed
 * sim_begin there is nothing to end.
 */
int sim_begin(const char *what);
void sim_sleep_ms(unsigned ms); /* without the lock: after sim_end */
int sim_end(int result);
extern struct sim_state sim;                  /* valid between begin and end */
extern const struct sim_board *sim_gpu_board; /* likewise */

/* The GPU of an index: those that are there, counted; SIM_GPUS: none. */
unsigned sim_gpu_at(unsigned index);
struct sim_handle *sim_device_handle(unsigned gpu);
struct sim_handle *sim_mig_handle(unsigned gpu, unsigned row);
struct sim_handle *sim_gi_handle(unsigned gpu, unsigned row);
struct sim_handle *sim_ci_handle(unsigned gpu, unsigned row);

/* The GPU, row of a handle, or NULL when it is not a live one of that kind. */
struct sim_gpu *sim_gpu_of(void *handle,
                           int *ret_result); /* of a whole GPU; GPU_IS_LOST when it is */
struct sim_ci *sim_mig_of(void *handle, unsigned *ret_gpu);
struct sim_gi *sim_gi_of(void *handle, unsigned *ret_gpu);
struct sim_gi *sim_gi_by_id(struct sim_gpu *g, unsigned id);
/* Makes a GPU instance there, as a driver would: 0 and its row, or INVALID_ARGUMENT, INSUFFICIENT_RESOURCES ... */
int sim_gi_make(struct sim_gpu *g, const struct sim_profile *p, unsigned start, unsigned *ret_row);

void sim_uuid(char out[48], const char *prefix, uint64_t a, uint64_t b);
uint64_t sim_now_ns(void);
/* Share of the GPU that is in use, 0..1000: memory slices of instances with a compute instance, or
 * the whole. */
unsigned sim_load(const struct sim_gpu *g);
unsigned sim_power_mw(const struct sim_gpu *g, unsigned gpu);
int sim_text(char *out, unsigned n, const char *text);

/* Exported calls: prototype and definition at once, visible in the shared object. */
#define SIM_CALL(name, ...)                                                                        \
    __attribute__((visibility("default"))) int nvml##name(__VA_ARGS__);                            \
    __attribute__((visibility("default"))) int nvml##name(__VA_ARGS__)

#endif

/* device: identity, memory, heat, power, events and GPM of the simulated GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

SIM_CALL(SystemGetDriverVersion, char *text, unsigned n) {
    return sim_text(text, n, "570.133.20");
}

SIM_CALL(SystemGetCudaDriverVersion_v2, int *ret) {
    *ret = 12080;
    return NVML_SUCCESS;
}

SIM_CALL(DeviceGetCount_v2, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetCount_v2");

    if (r) {
        return r;
    }
    *ret = (unsigned)__builtin_popcount(sim.present);
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceGetHandleByIndex_v2, unsigned index, struct nvml_device **ret) {
    int r = sim_begin("nvmlDeviceGetHandleByIndex_v2");

    if (r) {
        return r;
    }
    unsigned gpu = sim_gpu_at(index);
    if (gpu == SIM_GPUS) {
        return sim_end(NVML_INVALID_ARGUMENT);
    }
    if (sim.gpu[gpu].lost) {
        return sim_end(NVML_GPU_IS_LOST);
    }
    *ret = (struct nvml_device *)sim_device_handle(gpu);
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceGetUUID, struct nvml_device *d, char *text, unsigned n) {
    int r = sim_begin("nvmlDeviceGetUUID");
    unsigned gpu;
    char uuid[48];

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(d, &gpu);
    if (ci) {
        return sim_end(sim_text(text, n, ci->uuid));
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL) {
        return sim_end(r);
    }
    sim_uuid(uuid, "GPU", 1, (uint64_t)(g - sim.gpu));
    return sim_end(sim_text(text, n, uuid));
}

SIM_CALL(DeviceGetName, struct nvml_device *d, char *text, unsigned n) {
    int r = sim_begin("nvmlDeviceGetName");
    unsigned gpu;

    if (r) {
        return r;
    }
    if (sim_mig_of(d, &gpu) == NULL && sim_gpu_of(d, &r) == NULL) {
        return sim_end(r);
    }
    return sim_end(sim_text(text, n, sim_gpu_board->name));
}

SIM_CALL(DeviceGetMinorNumber, struct nvml_device *d, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetMinorNumber");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        *ret = (unsigned)(g - sim.gpu);
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetPciInfo_v3, struct nvml_device *d, struct nvml_pci *ret) {
    int r = sim_begin("nvmlDeviceGetPciInfo_v3");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        memset(ret, 0, sizeof(*ret));
        ret->bus = 0x19 + (unsigned)(g - sim.gpu) * 0x11;
        ret->device_id = sim_gpu_board->pci_id;
        snprintf(ret->bus_id, sizeof(ret->bus_id), "00000000:%02X:00.0", ret->bus & 0xff);
        snprintf(ret->bus_id_legacy, sizeof(ret->bus_id_legacy), "0000:%02X:00.0", ret->bus & 0xff);
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetCudaComputeCapability, struct nvml_device *d, int *major, int *minor) {
    int r = sim_begin("nvmlDeviceGetCudaComputeCapability");

    if (r) {
        return r;
    }
    *major = (int)sim_gpu_board->compute_major;
    *minor = 0;
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceGetMemoryInfo_v2, struct nvml_device *d, struct nvml_memory_v2 *ret) {
    int r = sim_begin("nvmlDeviceGetMemoryInfo_v2");
    const unsigned long long mib = 1 << 20;
    unsigned gpu;

    if (r) {
        return r;
    }
    if (ret->version != NVML_STRUCT_VERSION(struct nvml_memory_v2, 2)) {
        return sim_end(NVML_ARGUMENT_VERSION_MISMATCH);
    }
    struct sim_ci *ci = sim_mig_of(d, &gpu);
    if (ci) {
        const struct sim_gi *gi = sim_gi_by_id(&sim.gpu[gpu], ci->gi);
        ret->total = gi ? sim_profile(sim_gpu_board, gi->profile)->memory_mib * mib : 0;
        ret->reserved = 0;
        ret->used = ci->held ? ret->total / 10 * 6 : 13 * mib;
        ret->free = ret->total - ret->used;
        return sim_end(NVML_SUCCESS);
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        ret->total = sim_gpu_board->memory_mib * mib;
        ret->reserved = 617 * mib;
        ret->used = ret->total / 10 * 6 / 1000 * sim_load(g);
        ret->free = ret->total - ret->reserved - ret->used;
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetMemoryInfo, struct nvml_device *d, struct nvml_memory *ret) {
    struct nvml_memory_v2 m = {.version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2)};
    int r = nvmlDeviceGetMemoryInfo_v2(d, &m);

    if (r == 0) {
        *ret = (struct nvml_memory){m.total, m.free, m.used + m.reserved};
    }
    return r;
}

SIM_CALL(DeviceGetUtilizationRates, struct nvml_device *d, struct nvml_utilization *ret) {
    int r = sim_begin("nvmlDeviceGetUtilizationRates");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL) {
        return sim_end(r == NVML_INVALID_ARGUMENT ? NVML_NOT_SUPPORTED : r);
    }
    if (g->mig) {
        return sim_end(NVML_NOT_SUPPORTED);
    }
    ret->gpu = sim_load(g) * 96 / 1000;
    ret->memory = sim_load(g) * 41 / 1000;
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceGetTemperature, struct nvml_device *d, int sensor, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetTemperature");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g && sensor == NVML_TEMPERATURE_GPU) {
        *ret = 29 + (unsigned)(g - sim.gpu) % 3 + sim_load(g) * 40 / 1000;
        return sim_end(NVML_SUCCESS);
    }
    return sim_end(g ? NVML_NOT_SUPPORTED : r);
}

SIM_CALL(DeviceGetPowerUsage, struct nvml_device *d, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetPowerUsage");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        *ret = sim_power_mw(g, (unsigned)(g - sim.gpu));
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetTotalEnergyConsumption, struct nvml_device *d, unsigned long long *ret) {
    int r = sim_begin("nvmlDeviceGetTotalEnergyConsumption");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        *ret = g->energy_uj / 1000;
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetClockInfo, struct nvml_device *d, int type, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetClockInfo");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        unsigned busy = sim_load(g) ? sim_gpu_board->busy_mhz : sim_gpu_board->idle_mhz;
        *ret = type == NVML_CLOCK_MEM ? sim_gpu_board->memory_mhz : busy;
    }
    return sim_end(r);
}

/* ---- events: a set remembers what it has seen and which GPUs it listens to ---- */

struct nvml_event_set {
    unsigned gpus; /* bit i: GPU i */
    uint64_t seen;
};

SIM_CALL(EventSetCreate, struct nvml_event_set **ret) {
    int r = sim_begin("nvmlEventSetCreate");

    if (r) {
        return r;
    }
    struct nvml_event_set *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return sim_end(NVML_UNKNOWN);
    }
    set->seen = sim.events_next;
    *ret = set;
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(EventSetFree, struct nvml_event_set *set) {
    free(set);
    return NVML_SUCCESS;
}

SIM_CALL(DeviceGetSupportedEventTypes, struct nvml_device *d, unsigned long long *ret) {
    *ret = 0x1 | 0x2 | NVML_EVENT_XID | NVML_EVENT_MIG_CONFIG;
    return NVML_SUCCESS;
}

SIM_CALL(DeviceRegisterEvents, struct nvml_device *d, unsigned long long mask,
         struct nvml_event_set *set) {
    int r = sim_begin("nvmlDeviceRegisterEvents");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g && (mask & ~(0x1ull | 0x2 | NVML_EVENT_XID | NVML_EVENT_MIG_CONFIG))) {
        return sim_end(NVML_NOT_SUPPORTED);
    }
    if (g) {
        set->gpus |= 1u << (g - sim.gpu);
    }
    return sim_end(r);
}

static bool take_event(struct nvml_event_set *set, struct nvml_event *ret) {
    while (set->seen < sim.events_next) {
        const struct sim_event *e = &sim.events[set->seen % SIM_EVENTS];
        if (e->serial != set->seen++ || !(set->gpus & (1u << e->gpu))) {
            continue;
        }
        *ret = (struct nvml_event){.device = (struct nvml_device *)sim_device_handle(e->gpu),
                                   .type = NVML_EVENT_XID,
                                   .data = e->xid,
                                   .gpu_instance = e->gi,
                                   .compute_instance = e->gi == NVML_WHOLE_GPU ? e->gi : 0};
        return true;
    }
    return false;
}

SIM_CALL(EventSetWait_v2, struct nvml_event_set *set, struct nvml_event *ret, unsigned ms) {
    for (unsigned waited = 0;; waited += 20) {
        int r = sim_begin("nvmlEventSetWait_v2");
        if (r) {
            return r;
        }
        bool got = take_event(set, ret);
        sim_end(NVML_SUCCESS);
        if (got || waited >= ms) {
            return got ? NVML_SUCCESS : NVML_TIMEOUT;
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

/* ---- GPM: two samples and their difference; here the load of the moment of the second ---- */

struct nvml_gpm_sample {
    double percent;
    bool taken;
};

SIM_CALL(GpmQueryDeviceSupport, struct nvml_device *d, struct nvml_gpm_support *ret) {
    int r = sim_begin("nvmlGpmQueryDeviceSupport");

    if (r) {
        return r;
    }
    ret->supported = sim_gpu_board->gpm;
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(GpmSampleAlloc, struct nvml_gpm_sample **ret) {
    *ret = calloc(1, sizeof(**ret));
    return *ret ? NVML_SUCCESS : NVML_UNKNOWN;
}

SIM_CALL(GpmSampleFree, struct nvml_gpm_sample *s) {
    free(s);
    return NVML_SUCCESS;
}

SIM_CALL(GpmSampleGet, struct nvml_device *d, struct nvml_gpm_sample *s) {
    int r = sim_begin("nvmlGpmSampleGet");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || !sim_gpu_board->gpm || g->mig) {
        return sim_end(g ? NVML_NOT_SUPPORTED : r);
    }
    *s = (struct nvml_gpm_sample){.percent = sim_load(g) * 0.096, .taken = true};
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(GpmMigSampleGet, struct nvml_device *d, unsigned gi, struct nvml_gpm_sample *s) {
    int r = sim_begin("nvmlGpmMigSampleGet");
    unsigned held = 0;

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || !sim_gpu_board->gpm) {
        return sim_end(g ? NVML_NOT_SUPPORTED : r);
    }
    if (sim_gi_by_id(g, gi) == NULL) {
        return sim_end(NVML_NOT_FOUND);
    }
    for (unsigned i = 0; i < SIM_MIG; i++) {
        held += g->ci[i].used && g->ci[i].gi == gi ? g->ci[i].held : 0;
    }
    *s = (struct nvml_gpm_sample){
        .percent = held ? 88.0 + (double)(sim_now_ns() / 1000000000u % 9) : 0, .taken = true};
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(GpmMetricsGet, struct nvml_gpm_metrics *m) {
    if (m->version != 1 || m->first == NULL || m->second == NULL || !m->first->taken ||
        !m->second->taken) {
        return NVML_INVALID_ARGUMENT;
    }
    for (unsigned i = 0; i < m->n; i++) {
        m->v[i].result = m->v[i].id == NVML_GPM_GRAPHICS_UTIL ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
        m->v[i].value = m->second->percent;
    }
    return NVML_SUCCESS;
}

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
    return ABI_SUCCESS;
}

SIM_CALL(DeviceGetCount_v2, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetCount_v2");

    if (r) {
        return r;
    }
    *ret = (unsigned)__builtin_popcount(sim.present);
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetHandleByIndex_v2, unsigned index, struct abi_device **ret) {
    int r = sim_begin("nvmlDeviceGetHandleByIndex_v2");

    if (r) {
        return r;
    }
    unsigned gpu = sim_gpu_at(index);
    if (gpu == SIM_GPUS) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    if (sim.gpu[gpu].lost) {
        return sim_end(ABI_GPU_IS_LOST);
    }
    *ret = (struct abi_device *)sim_device_handle(gpu);
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetUUID, struct abi_device *d, char *text, unsigned n) {
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

SIM_CALL(DeviceGetName, struct abi_device *d, char *text, unsigned n) {
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

SIM_CALL(DeviceGetMinorNumber, struct abi_device *d, unsigned *ret) {
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

SIM_CALL(DeviceGetPciInfo_v3, struct abi_device *d, struct abi_pci_info *ret) {
    int r = sim_begin("nvmlDeviceGetPciInfo_v3");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        memset(ret, 0, sizeof(*ret));
        ret->bus = 0x19 + (unsigned)(g - sim.gpu) * 0x11;
        ret->pci_device_id = sim_gpu_board->pci_id;
        snprintf(ret->bus_id, sizeof(ret->bus_id), "00000000:%02X:00.0", ret->bus & 0xff);
        snprintf(ret->bus_id_legacy, sizeof(ret->bus_id_legacy), "0000:%02X:00.0", ret->bus & 0xff);
    }
    return sim_end(r);
}

SIM_CALL(DeviceGetCudaComputeCapability, struct abi_device *d, int *major, int *minor) {
    int r = sim_begin("nvmlDeviceGetCudaComputeCapability");

    if (r) {
        return r;
    }
    *major = (int)sim_gpu_board->compute_major;
    *minor = 0;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetMemoryInfo_v2, struct abi_device *d, struct abi_memory_v2 *ret) {
    int r = sim_begin("nvmlDeviceGetMemoryInfo_v2");
    const unsigned long long mib = 1 << 20;
    unsigned gpu;

    if (r) {
        return r;
    }
    if (ret->version != ABI_MEMORY_V2) {
        return sim_end(ABI_ARGUMENT_VERSION_MISMATCH);
    }
    struct sim_ci *ci = sim_mig_of(d, &gpu);
    if (ci) {
        const struct sim_gi *gi = sim_gi_by_id(&sim.gpu[gpu], ci->gi);
        ret->total = gi ? sim_profile(sim_gpu_board, gi->profile)->memory_mib * mib : 0;
        ret->reserved = 0;
        ret->used = ci->held ? ret->total / 10 * 6 : 13 * mib;
        ret->free = ret->total - ret->used;
        return sim_end(ABI_SUCCESS);
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

SIM_CALL(DeviceGetMemoryInfo, struct abi_device *d, struct abi_memory *ret) {
    struct abi_memory_v2 m = {.version = ABI_MEMORY_V2};
    int r = nvmlDeviceGetMemoryInfo_v2(d, &m);

    if (r == 0) {
        *ret = (struct abi_memory){m.total, m.free, m.used + m.reserved};
    }
    return r;
}

SIM_CALL(DeviceGetUtilizationRates, struct abi_device *d, struct abi_utilization *ret) {
    int r = sim_begin("nvmlDeviceGetUtilizationRates");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL) {
        return sim_end(r == ABI_INVALID_ARGUMENT ? ABI_NOT_SUPPORTED : r);
    }
    if (g->mig) {
        return sim_end(ABI_NOT_SUPPORTED);
    }
    ret->gpu = sim_load(g) * 96 / 1000;
    ret->memory = sim_load(g) * 41 / 1000;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetTemperature, struct abi_device *d, int sensor, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetTemperature");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g && sensor == ABI_TEMPERATURE_GPU) {
        *ret = 29 + (unsigned)(g - sim.gpu) % 3 + sim_load(g) * 40 / 1000;
        return sim_end(ABI_SUCCESS);
    }
    return sim_end(g ? ABI_NOT_SUPPORTED : r);
}

SIM_CALL(DeviceGetPowerUsage, struct abi_device *d, unsigned *ret) {
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

SIM_CALL(DeviceGetTotalEnergyConsumption, struct abi_device *d, unsigned long long *ret) {
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

SIM_CALL(DeviceGetClockInfo, struct abi_device *d, int type, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetClockInfo");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        unsigned busy = sim_load(g) ? sim_gpu_board->busy_mhz : sim_gpu_board->idle_mhz;
        *ret = type == ABI_CLOCK_MEM ? sim_gpu_board->memory_mhz : busy;
    }
    return sim_end(r);
}

/* ---- events: a set remembers what it has seen and which GPUs it listens to ---- */

struct abi_event_set {
    unsigned gpus; /* bit i: GPU i */
    uint64_t seen;
};

SIM_CALL(EventSetCreate, struct abi_event_set **ret) {
    int r = sim_begin("nvmlEventSetCreate");

    if (r) {
        return r;
    }
    struct abi_event_set *set = calloc(1, sizeof(*set));
    if (set == NULL) {
        return sim_end(ABI_UNKNOWN);
    }
    set->seen = sim.events_next;
    *ret = set;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(EventSetFree, struct abi_event_set *set) {
    free(set);
    return ABI_SUCCESS;
}

SIM_CALL(DeviceGetSupportedEventTypes, struct abi_device *d, unsigned long long *ret) {
    *ret = ABI_EVENT_SINGLE_BIT_ECC_ERROR | ABI_EVENT_DOUBLE_BIT_ECC_ERROR |
           ABI_EVENT_XID_CRITICAL_ERROR | ABI_EVENT_MIG_CONFIG_CHANGE;
    return ABI_SUCCESS;
}

SIM_CALL(DeviceRegisterEvents, struct abi_device *d, unsigned long long mask,
         struct abi_event_set *set) {
    int r = sim_begin("nvmlDeviceRegisterEvents");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g && (mask & ~(ABI_EVENT_SINGLE_BIT_ECC_ERROR | ABI_EVENT_DOUBLE_BIT_ECC_ERROR |
                       ABI_EVENT_XID_CRITICAL_ERROR | ABI_EVENT_MIG_CONFIG_CHANGE))) {
        return sim_end(ABI_NOT_SUPPORTED);
    }
    if (g) {
        set->gpus |= 1u << (g - sim.gpu);
    }
    return sim_end(r);
}

static bool take_event(struct abi_event_set *set, struct abi_event_data *ret) {
    while (set->seen < sim.events_next) {
        const struct sim_event *e = &sim.events[set->seen % SIM_EVENTS];
        if (e->serial != set->seen++ || !(set->gpus & (1u << e->gpu))) {
            continue;
        }
        *ret = (struct abi_event_data){.device = (struct abi_device *)sim_device_handle(e->gpu),
                                       .event_type = ABI_EVENT_XID_CRITICAL_ERROR,
                                       .event_data = e->xid,
                                       .gpu_instance_id = e->gi,
                                       .compute_instance_id = e->gi == ABI_NO_INSTANCE ? e->gi : 0};
        return true;
    }
    return false;
}

SIM_CALL(EventSetWait_v2, struct abi_event_set *set, struct abi_event_data *ret, unsigned ms) {
    for (unsigned waited = 0;; waited += 20) {
        int r = sim_begin("nvmlEventSetWait_v2");
        if (r) {
            return r;
        }
        bool got = take_event(set, ret);
        sim_end(ABI_SUCCESS);
        if (got || waited >= ms) {
            return got ? ABI_SUCCESS : ABI_TIMEOUT;
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
}

/* ---- GPM: two samples and their difference; here the load of the moment of the second ---- */

struct abi_gpm_sample {
    double percent;
    bool taken;
};

SIM_CALL(GpmQueryDeviceSupport, struct abi_device *d, struct abi_gpm_support *ret) {
    int r = sim_begin("nvmlGpmQueryDeviceSupport");

    if (r) {
        return r;
    }
    ret->is_supported_device = sim_gpu_board->gpm;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(GpmSampleAlloc, struct abi_gpm_sample **ret) {
    *ret = calloc(1, sizeof(**ret));
    return *ret ? ABI_SUCCESS : ABI_UNKNOWN;
}

SIM_CALL(GpmSampleFree, struct abi_gpm_sample *s) {
    free(s);
    return ABI_SUCCESS;
}

SIM_CALL(GpmSampleGet, struct abi_device *d, struct abi_gpm_sample *s) {
    int r = sim_begin("nvmlGpmSampleGet");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || !sim_gpu_board->gpm || g->mig) {
        return sim_end(g ? ABI_NOT_SUPPORTED : r);
    }
    *s = (struct abi_gpm_sample){.percent = sim_load(g) * 0.096, .taken = true};
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(GpmMigSampleGet, struct abi_device *d, unsigned gi, struct abi_gpm_sample *s) {
    int r = sim_begin("nvmlGpmMigSampleGet");
    unsigned held = 0;

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || !sim_gpu_board->gpm) {
        return sim_end(g ? ABI_NOT_SUPPORTED : r);
    }
    if (sim_gi_by_id(g, gi) == NULL) {
        return sim_end(ABI_NOT_FOUND);
    }
    for (unsigned i = 0; i < SIM_MIG; i++) {
        held += g->ci[i].used && g->ci[i].gi == gi ? g->ci[i].held : 0;
    }
    *s = (struct abi_gpm_sample){
        .percent = held ? 88.0 + (double)(sim_now_ns() / 1000000000u % 9) : 0, .taken = true};
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(GpmMetricsGet, struct abi_gpm_metrics_get *m) {
    if (m->version != ABI_GPM_METRICS_GET_VERSION || m->sample1 == NULL || m->sample2 == NULL ||
        !m->sample1->taken || !m->sample2->taken) {
        return ABI_INVALID_ARGUMENT;
    }
    for (unsigned i = 0; i < m->num_metrics; i++) {
        struct abi_gpm_metric *x = &m->metrics[i];
        x->nvml_return =
            x->metric_id == ABI_GPM_METRIC_GRAPHICS_UTIL ? ABI_SUCCESS : ABI_NOT_SUPPORTED;
        x->value = m->sample2->percent;
    }
    return ABI_SUCCESS;
}

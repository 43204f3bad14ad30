/* mig_device: MIG devices, which are what CUDA sees, and the one call that a real driver does not
 * have. */
#include <string.h>

#include "sim.h"

SIM_CALL(DeviceGetMaxMigDeviceCount, struct nvml_device *d, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetMaxMigDeviceCount");

    if (r) {
        return r;
    }
    if (sim_gpu_of(d, &r)) {
        *ret = SIM_MIG;
    }
    return sim_end(r);
}

/* NOT_FOUND is a hole: higher indices may still be there. */
SIM_CALL(DeviceGetMigDeviceHandleByIndex, struct nvml_device *d, unsigned index,
         struct nvml_device **ret) {
    int r = sim_begin("nvmlDeviceGetMigDeviceHandleByIndex");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || index >= SIM_MIG) {
        return sim_end(g ? NVML_INVALID_ARGUMENT : r);
    }
    if (!g->ci[index].used) {
        return sim_end(NVML_NOT_FOUND);
    }
    *ret = (struct nvml_device *)sim_mig_handle((unsigned)(g - sim.gpu), index);
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceIsMigDeviceHandle, struct nvml_device *d, unsigned *ret) {
    int r = sim_begin("nvmlDeviceIsMigDeviceHandle");
    unsigned gpu;

    if (r) {
        return r;
    }
    *ret = sim_mig_of(d, &gpu) != NULL;
    return sim_end(NVML_SUCCESS);
}

SIM_CALL(DeviceGetGpuInstanceId, struct nvml_device *mig, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetGpuInstanceId");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = ci->gi;
    }
    return sim_end(ci ? NVML_SUCCESS : NVML_NOT_FOUND);
}

SIM_CALL(DeviceGetComputeInstanceId, struct nvml_device *mig, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetComputeInstanceId");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = ci->id;
    }
    return sim_end(ci ? NVML_SUCCESS : NVML_NOT_FOUND);
}

SIM_CALL(DeviceGetDeviceHandleFromMigDeviceHandle, struct nvml_device *mig,
         struct nvml_device **ret) {
    int r = sim_begin("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = (struct nvml_device *)sim_device_handle(gpu);
    }
    return sim_end(ci ? NVML_SUCCESS : NVML_INVALID_ARGUMENT);
}

SIM_CALL(DeviceGetAttributes_v2, struct nvml_device *mig, struct nvml_attributes *ret) {
    int r = sim_begin("nvmlDeviceGetAttributes_v2");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    struct sim_gi *gi = ci ? sim_gi_by_id(&sim.gpu[gpu], ci->gi) : NULL;
    if (gi == NULL) {
        return sim_end(NVML_NOT_SUPPORTED);
    }
    const struct sim_profile *p = sim_profile(sim_gpu_board, gi->profile);
    *ret = (struct nvml_attributes){.sm = p->sm * ci->size / p->compute,
                                    .copy = p->copy,
                                    .decoders = p->decoders,
                                    .encoders = p->encoders,
                                    .jpegs = p->jpegs,
                                    .ofas = p->ofas,
                                    .gpu_slices = p->compute,
                                    .compute_slices = ci->size,
                                    .memory_mib = p->memory_mib};
    return sim_end(NVML_SUCCESS);
}

/*
 * Only here, and only looked up by the simulator's path: says how many processes use the GPU or MIG
 * device of this UUID, which a driver knows by itself. Heat, power and IN_USE follow from it.
 */
SIM_CALL(BerthSimHold, const char *uuid, unsigned processes) {
    int r = sim_begin("nvmlBerthSimHold");
    char own[48];

    if (r) {
        return r;
    }
    for (unsigned i = 0; i < SIM_GPUS; i++) {
        sim_uuid(own, "GPU", 1, i);
        if (!strcmp(own, uuid)) {
            sim.gpu[i].held = processes;
            return sim_end(NVML_SUCCESS);
        }
        for (unsigned j = 0; j < SIM_MIG; j++) {
            if (sim.gpu[i].ci[j].used && !strcmp(sim.gpu[i].ci[j].uuid, uuid)) {
                sim.gpu[i].ci[j].held = processes;
                return sim_end(NVML_SUCCESS);
            }
        }
    }
    return sim_end(NVML_NOT_FOUND);
}

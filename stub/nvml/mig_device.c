/* mig_device: MIG devices, which are what CUDA sees, and the one call that a real driver does not
 * have. */
#include <string.h>

#include "sim.h"

SIM_CALL(DeviceGetMaxMigDeviceCount, struct abi_device *d, unsigned *ret) {
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
SIM_CALL(DeviceGetMigDeviceHandleByIndex, struct abi_device *d, unsigned index,
         struct abi_device **ret) {
    int r = sim_begin("nvmlDeviceGetMigDeviceHandleByIndex");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || index >= SIM_MIG) {
        return sim_end(g ? ABI_INVALID_ARGUMENT : r);
    }
    if (!g->ci[index].used) {
        return sim_end(ABI_NOT_FOUND);
    }
    *ret = (struct abi_device *)sim_mig_handle((unsigned)(g - sim.gpu), index);
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceIsMigDeviceHandle, struct abi_device *d, unsigned *ret) {
    int r = sim_begin("nvmlDeviceIsMigDeviceHandle");
    unsigned gpu;

    if (r) {
        return r;
    }
    *ret = sim_mig_of(d, &gpu) != NULL;
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetGpuInstanceId, struct abi_device *mig, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetGpuInstanceId");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = ci->gi;
    }
    return sim_end(ci ? ABI_SUCCESS : ABI_NOT_FOUND);
}

SIM_CALL(DeviceGetComputeInstanceId, struct abi_device *mig, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetComputeInstanceId");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = ci->id;
    }
    return sim_end(ci ? ABI_SUCCESS : ABI_NOT_FOUND);
}

SIM_CALL(DeviceGetDeviceHandleFromMigDeviceHandle, struct abi_device *mig,
         struct abi_device **ret) {
    int r = sim_begin("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    if (ci) {
        *ret = (struct abi_device *)sim_device_handle(gpu);
    }
    return sim_end(ci ? ABI_SUCCESS : ABI_INVALID_ARGUMENT);
}

SIM_CALL(DeviceGetAttributes_v2, struct abi_device *mig, struct abi_device_attributes *ret) {
    int r = sim_begin("nvmlDeviceGetAttributes_v2");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(mig, &gpu);
    struct sim_gi *gi = ci ? sim_gi_by_id(&sim.gpu[gpu], ci->gi) : NULL;
    if (gi == NULL) {
        return sim_end(ABI_NOT_SUPPORTED);
    }
    const struct sim_profile *p = sim_profile(sim_gpu_board, gi->profile);
    *ret = (struct abi_device_attributes){.multiprocessor_count = p->sm * ci->size / p->compute,
                                          .shared_copy_engine_count = p->copy,
                                          .shared_decoder_count = p->decoders,
                                          .shared_encoder_count = p->encoders,
                                          .shared_jpeg_count = p->jpegs,
                                          .shared_ofa_count = p->ofas,
                                          .gpu_instance_slice_count = p->compute,
                                          .compute_instance_slice_count = ci->size,
                                          .memory_size_mb = p->memory_mib};
    return sim_end(ABI_SUCCESS);
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
            return sim_end(ABI_SUCCESS);
        }
        for (unsigned j = 0; j < SIM_MIG; j++) {
            if (sim.gpu[i].ci[j].used && !strcmp(sim.gpu[i].ci[j].uuid, uuid)) {
                sim.gpu[i].ci[j].held = processes;
                return sim_end(ABI_SUCCESS);
            }
        }
    }
    return sim_end(ABI_NOT_FOUND);
}

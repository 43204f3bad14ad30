/*
 * mig: MIG mode, GPU instances, compute instances and MIG devices of the simulated GPUs.
 *
 * A GPU instance may be made where its profile may start, where no other instance lies, and while
 * its profile's count is not used up; +me takes the one spare media engine. Without that the answer
 * is INSUFFICIENT_RESOURCES, as the driver's.
 */
#include <string.h>

#include "sim.h"

enum { FOREVER_MS = 3600000 };

SIM_CALL(DeviceGetMigMode, struct abi_device *d, unsigned *current, unsigned *pending) {
    int r = sim_begin("nvmlDeviceGetMigMode");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g) {
        *current = g->mig;
        *pending = g->mig_pending;
    }
    return sim_end(r);
}

static bool in_use(const struct sim_gpu *g) {
    bool used = g->held != 0;

    for (unsigned i = 0; i < SIM_MIG; i++) {
        used |= g->ci[i].used && g->ci[i].held;
    }
    return used;
}

SIM_CALL(DeviceSetMigMode, struct abi_device *d, unsigned mode, int *activation) {
    int r = sim_begin("nvmlDeviceSetMigMode");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    if (g == NULL || mode > 1) {
        return sim_end(g ? ABI_INVALID_ARGUMENT : r);
    }
    g->mig_pending = mode;
    *activation = ABI_SUCCESS;
    if (mode != g->mig) {
        if (in_use(g)) {
            *activation = ABI_IN_USE;
        } else if (!sim_gpu_board->mode_at_once) {
            *activation = ABI_RESET_REQUIRED;
        } else {
            memset(g->gi, 0, sizeof(g->gi));
            memset(g->ci, 0, sizeof(g->ci));
            g->mig = mode;
        }
    }
    return sim_end(ABI_SUCCESS);
}

static const struct sim_profile *by_query(unsigned query) {
    for (size_t i = 0; i < SIM_PROFILES; i++) {
        if (sim_gpu_board->profiles[i].query == query) {
            return &sim_gpu_board->profiles[i];
        }
    }
    return NULL;
}

SIM_CALL(DeviceGetGpuInstanceProfileInfo, struct abi_device *d, unsigned query,
         struct abi_gpu_instance_profile_info *ret) {
    int r = sim_begin("nvmlDeviceGetGpuInstanceProfileInfo");

    if (r) {
        return r;
    }
    const struct sim_profile *p = by_query(query);
    if (query >= ABI_GPU_INSTANCE_PROFILE_COUNT || p == NULL || sim_gpu_of(d, &r) == NULL) {
        return sim_end(query >= ABI_GPU_INSTANCE_PROFILE_COUNT ? ABI_INVALID_ARGUMENT
                       : p == NULL                             ? ABI_NOT_SUPPORTED
                                                               : r);
    }
    *ret = (struct abi_gpu_instance_profile_info){.id = p->id,
                                                  .slice_count = p->compute,
                                                  .instance_count = p->instances,
                                                  .multiprocessor_count = p->sm,
                                                  .copy_engine_count = p->copy,
                                                  .decoder_count = p->decoders,
                                                  .encoder_count = p->encoders,
                                                  .jpeg_count = p->jpegs,
                                                  .ofa_count = p->ofas,
                                                  .memory_size_mb = p->memory_mib};
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetGpuInstanceProfileInfoV, struct abi_device *d, unsigned query,
         struct abi_gpu_instance_profile_info_v2 *ret) {
    struct abi_gpu_instance_profile_info one;

    if (ret->version != ABI_GPU_INSTANCE_PROFILE_INFO_V2) {
        return ABI_ARGUMENT_VERSION_MISMATCH;
    }
    int r = nvmlDeviceGetGpuInstanceProfileInfo(d, query, &one);
    if (r) {
        return r;
    }
    *ret =
        (struct abi_gpu_instance_profile_info_v2){.version = ret->version,
                                                  .id = one.id,
                                                  .slice_count = one.slice_count,
                                                  .instance_count = one.instance_count,
                                                  .multiprocessor_count = one.multiprocessor_count,
                                                  .copy_engine_count = one.copy_engine_count,
                                                  .decoder_count = one.decoder_count,
                                                  .encoder_count = one.encoder_count,
                                                  .jpeg_count = one.jpeg_count,
                                                  .ofa_count = one.ofa_count,
                                                  .memory_size_mb = one.memory_size_mb};
    return sim_text(ret->name, sizeof(ret->name), by_query(query)->name);
}

SIM_CALL(DeviceGetGpuInstancePossiblePlacements_v2, struct abi_device *d, unsigned id,
         struct abi_gpu_instance_placement *v, unsigned *n) {
    int r = sim_begin("nvmlDeviceGetGpuInstancePossiblePlacements_v2");
    unsigned k = 0;

    if (r) {
        return r;
    }
    const struct sim_profile *p = sim_profile(sim_gpu_board, id);
    if (p == NULL || sim_gpu_of(d, &r) == NULL) {
        return sim_end(p ? r : ABI_INVALID_ARGUMENT);
    }
    unsigned need = (unsigned)__builtin_popcount(p->starts);
    if (v == NULL || *n < need) {
        *n = need;
        return sim_end(v ? ABI_INSUFFICIENT_SIZE : ABI_SUCCESS);
    }
    for (unsigned s = 0; s < sim_gpu_board->slices; s++) {
        if (p->starts & (1u << s)) {
            v[k++] = (struct abi_gpu_instance_placement){s, p->size};
        }
    }
    *n = k;
    return sim_end(ABI_SUCCESS);
}

/* Could profile p be made at `start` now? */
static bool fits(const struct sim_gpu *g, const struct sim_profile *p, unsigned start) {
    unsigned same = 0;

    if (start >= 32 || !(p->starts & (1u << start))) {
        return false;
    }
    for (unsigned i = 0; i < SIM_INSTANCES; i++) {
        const struct sim_gi *o = &g->gi[i];
        if (!o->used) {
            continue;
        }
        if (start < o->start + o->size && o->start < start + p->size) {
            return false;
        }
        same += o->profile == p->id;
    }
    return same < p->instances;
}

SIM_CALL(DeviceGetGpuInstanceRemainingCapacity, struct abi_device *d, unsigned id, unsigned *ret) {
    int r = sim_begin("nvmlDeviceGetGpuInstanceRemainingCapacity");
    unsigned n = 0, same = 0;

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    const struct sim_profile *p = sim_profile(sim_gpu_board, id);
    if (g == NULL || p == NULL) {
        return sim_end(g ? ABI_INVALID_ARGUMENT : r);
    }
    for (unsigned i = 0; i < SIM_INSTANCES; i++) {
        same += g->gi[i].used && g->gi[i].profile == id;
    }
    /* Greedy from the left: for one profile in isolation that is the most that fits. */
    for (unsigned s = 0; s < sim_gpu_board->slices; s += fits(g, p, s) ? p->size : 1) {
        n += fits(g, p, s);
    }
    *ret = n < p->instances - same ? n : p->instances - same;
    return sim_end(ABI_SUCCESS);
}

/* Ids as the driver hands them out: small instances have high numbers. */
static unsigned new_gi_id(struct sim_gpu *g, const struct sim_profile *p) {
    unsigned id = p->size == 8 ? 0 : p->size == 4 ? 1 : p->size == 2 ? 3 : 7;

    while (sim_gi_by_id(g, id)) {
        id++;
    }
    return id;
}

int sim_gi_make(struct sim_gpu *g, const struct sim_profile *p, unsigned start, unsigned *ret_row) {
    unsigned row = 0;

    if (!g->mig) {
        return ABI_NOT_SUPPORTED;
    }
    while (row < SIM_INSTANCES && g->gi[row].used) {
        row++;
    }
    if (!fits(g, p, start) || row == SIM_INSTANCES) {
        return ABI_INSUFFICIENT_RESOURCES;
    }
    g->gi[row] = (struct sim_gi){1, new_gi_id(g, p), p->id, start, p->size};
    *ret_row = row;
    return ABI_SUCCESS;
}

static int make_gi(struct abi_device *d, unsigned id,
                   const struct abi_gpu_instance_placement *where, struct abi_gpu_instance **ret) {
    int r = ABI_SUCCESS;
    struct sim_gpu *g = sim_gpu_of(d, &r);
    const struct sim_profile *p = sim_profile(sim_gpu_board, id);
    unsigned row, start = where ? where->start : 0;

    if (g == NULL || p == NULL) {
        return g ? ABI_INVALID_ARGUMENT : r;
    }
    if (where && where->size != p->size) {
        return ABI_INVALID_ARGUMENT;
    }
    while (where == NULL && start < sim_gpu_board->slices && !fits(g, p, start)) {
        start++;
    }
    if (sim.astray_ms) {
        sim.astray = (struct sim_astray){sim_now_ns() + sim.astray_ms * 1000000ull,
                                         (unsigned)(g - sim.gpu), id, start};
        sim.astray_ms = 0;
        sim_end(ABI_SUCCESS);
        sim_sleep_ms(FOREVER_MS);
        sim_begin("nvmlDeviceCreateGpuInstance");
        return ABI_UNKNOWN;
    }
    r = sim_gi_make(g, p, start, &row);
    if (r == 0) {
        *ret = (struct abi_gpu_instance *)sim_gi_handle((unsigned)(g - sim.gpu), row);
    }
    return r;
}

SIM_CALL(DeviceCreateGpuInstance, struct abi_device *d, unsigned id,
         struct abi_gpu_instance **ret) {
    int r = sim_begin("nvmlDeviceCreateGpuInstance");

    return r ? r : sim_end(make_gi(d, id, NULL, ret));
}

SIM_CALL(DeviceCreateGpuInstanceWithPlacement, struct abi_device *d, unsigned id,
         const struct abi_gpu_instance_placement *where, struct abi_gpu_instance **ret) {
    int r = sim_begin("nvmlDeviceCreateGpuInstanceWithPlacement");

    return r ? r : sim_end(where ? make_gi(d, id, where, ret) : ABI_INVALID_ARGUMENT);
}

SIM_CALL(GpuInstanceDestroy, struct abi_gpu_instance *handle) {
    int r = sim_begin("nvmlGpuInstanceDestroy");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    if (gi == NULL) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    for (unsigned i = 0; i < SIM_MIG; i++) {
        if (sim.gpu[gpu].ci[i].used && sim.gpu[gpu].ci[i].gi == gi->id) {
            return sim_end(ABI_IN_USE);
        }
    }
    *gi = (struct sim_gi){0};
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(DeviceGetGpuInstances, struct abi_device *d, unsigned id, struct abi_gpu_instance **v,
         unsigned *n) {
    int r = sim_begin("nvmlDeviceGetGpuInstances");
    unsigned k = 0;

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    for (unsigned i = 0; g && i < SIM_INSTANCES; i++) {
        if (g->gi[i].used && g->gi[i].profile == id) {
            v[k++] = (struct abi_gpu_instance *)sim_gi_handle((unsigned)(g - sim.gpu), i);
        }
    }
    *n = k;
    return sim_end(r);
}

SIM_CALL(DeviceGetGpuInstanceById, struct abi_device *d, unsigned id,
         struct abi_gpu_instance **ret) {
    int r = sim_begin("nvmlDeviceGetGpuInstanceById");

    if (r) {
        return r;
    }
    struct sim_gpu *g = sim_gpu_of(d, &r);
    struct sim_gi *gi = g ? sim_gi_by_id(g, id) : NULL;
    if (gi == NULL) {
        return sim_end(g ? ABI_NOT_FOUND : r);
    }
    *ret =
        (struct abi_gpu_instance *)sim_gi_handle((unsigned)(g - sim.gpu), (unsigned)(gi - g->gi));
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(GpuInstanceGetInfo, struct abi_gpu_instance *handle, struct abi_gpu_instance_info *ret) {
    int r = sim_begin("nvmlGpuInstanceGetInfo");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    if (gi == NULL) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    *ret = (struct abi_gpu_instance_info){.device = (struct abi_device *)sim_device_handle(gpu),
                                          .id = gi->id,
                                          .profile_id = gi->profile,
                                          .placement = {gi->start, gi->size}};
    return sim_end(ABI_SUCCESS);
}

/* ---- compute instances ---- */

/* The compute sizes that are offered, by query number, and in which GPU instances. */
static const struct {
    unsigned size;
    const char *in; /* digits: compute slices of the GPU instance */
} compute_profiles[] = {{1, "12347"}, {2, "2347"}, {3, "37"}, {4, "47"}, {7, "7"}};

static bool offered(unsigned query, unsigned slices) {
    return query < sizeof(compute_profiles) / sizeof(compute_profiles[0]) && slices < 10 &&
           strchr(compute_profiles[query].in, (int)('0' + slices));
}

SIM_CALL(GpuInstanceGetComputeInstanceProfileInfo, struct abi_gpu_instance *handle, unsigned query,
         unsigned engine, struct abi_compute_instance_profile_info *ret) {
    int r = sim_begin("nvmlGpuInstanceGetComputeInstanceProfileInfo");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    if (gi == NULL || engine != ABI_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED ||
        query >= ABI_COMPUTE_INSTANCE_PROFILE_COUNT) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    const struct sim_profile *p = sim_profile(sim_gpu_board, gi->profile);
    if (!offered(query, p->compute)) {
        return sim_end(ABI_NOT_SUPPORTED);
    }
    unsigned size = compute_profiles[query].size;
    *ret = (struct abi_compute_instance_profile_info){.id = query,
                                                      .slice_count = size,
                                                      .instance_count = p->compute / size,
                                                      .multiprocessor_count =
                                                          p->sm * size / p->compute,
                                                      .shared_copy_engine_count = p->copy,
                                                      .shared_decoder_count = p->decoders,
                                                      .shared_encoder_count = p->encoders,
                                                      .shared_jpeg_count = p->jpegs,
                                                      .shared_ofa_count = p->ofas};
    return sim_end(ABI_SUCCESS);
}

static bool compute_free(const struct sim_gpu *g, unsigned gi, unsigned start, unsigned size) {
    for (unsigned i = 0; i < SIM_MIG; i++) {
        const struct sim_ci *o = &g->ci[i];
        if (o->used && o->gi == gi && start < o->start + o->size && o->start < start + size) {
            return false;
        }
    }
    return true;
}

/* 7g: 2c {0,2,4}, 3c {0,4}; 4g: 2c {0,2}; 3g: 2c {0}; 1c everywhere; the full size at 0. */
static bool compute_start(unsigned slices, unsigned size, unsigned start) {
    if (size == slices || size == 1) {
        return start + size <= slices;
    }
    return size == 3 ? start == 0 || start == 4
                     : start % 2 == 0 && start + 2 <= slices - slices % 2;
}

SIM_CALL(GpuInstanceGetComputeInstancePossiblePlacements, struct abi_gpu_instance *handle,
         unsigned id, struct abi_compute_instance_placement *v, unsigned *n) {
    int r = sim_begin("nvmlGpuInstanceGetComputeInstancePossiblePlacements");
    unsigned gpu, k = 0;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    unsigned slices = gi ? sim_profile(sim_gpu_board, gi->profile)->compute : 0;
    if (gi == NULL || !offered(id, slices)) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    for (unsigned s = 0; s < slices; s++) {
        if (compute_start(slices, compute_profiles[id].size, s)) {
            if (v && k < *n) {
                v[k] = (struct abi_compute_instance_placement){s, compute_profiles[id].size};
            }
            k++;
        }
    }
    r = v && k > *n ? ABI_INSUFFICIENT_SIZE : ABI_SUCCESS;
    *n = k;
    return sim_end(r);
}

SIM_CALL(GpuInstanceCreateComputeInstance, struct abi_gpu_instance *handle, unsigned id,
         struct abi_compute_instance **ret) {
    int r = sim_begin("nvmlGpuInstanceCreateComputeInstance");
    unsigned gpu, row = 0, start = 0;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    unsigned slices = gi ? sim_profile(sim_gpu_board, gi->profile)->compute : 0;
    if (gi == NULL || !offered(id, slices)) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    struct sim_gpu *g = &sim.gpu[gpu];
    unsigned size = compute_profiles[id].size;
    while (start < slices &&
           !(compute_start(slices, size, start) && compute_free(g, gi->id, start, size))) {
        start++;
    }
    while (row < SIM_MIG && g->ci[row].used) {
        row++;
    }
    if (start >= slices || row == SIM_MIG) {
        return sim_end(ABI_INSUFFICIENT_RESOURCES);
    }
    unsigned ci_id = 0;
    for (unsigned i = 0; i < SIM_MIG; i++) {
        ci_id += g->ci[i].used && g->ci[i].gi == gi->id;
    }
    g->ci[row] = (struct sim_ci){
        .used = 1, .gi = gi->id, .id = ci_id, .profile = id, .start = start, .size = size};
    sim_uuid(g->ci[row].uuid, "MIG", 2 + gpu, ++sim.serial);
    *ret = (struct abi_compute_instance *)sim_ci_handle(gpu, row);
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(ComputeInstanceDestroy, struct abi_compute_instance *handle) {
    int r = sim_begin("nvmlComputeInstanceDestroy");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(handle, &gpu);
    if (ci == NULL || ci->held) {
        return sim_end(ci ? ABI_IN_USE : ABI_INVALID_ARGUMENT);
    }
    *ci = (struct sim_ci){0};
    return sim_end(ABI_SUCCESS);
}

SIM_CALL(GpuInstanceGetComputeInstances, struct abi_gpu_instance *handle, unsigned id,
         struct abi_compute_instance **v, unsigned *n) {
    int r = sim_begin("nvmlGpuInstanceGetComputeInstances");
    unsigned gpu, k = 0;

    if (r) {
        return r;
    }
    struct sim_gi *gi = sim_gi_of(handle, &gpu);
    for (unsigned i = 0; gi && i < SIM_MIG; i++) {
        const struct sim_ci *ci = &sim.gpu[gpu].ci[i];
        if (ci->used && ci->gi == gi->id && ci->profile == id) {
            v[k++] = (struct abi_compute_instance *)sim_ci_handle(gpu, i);
        }
    }
    *n = k;
    return sim_end(gi ? ABI_SUCCESS : ABI_INVALID_ARGUMENT);
}

SIM_CALL(ComputeInstanceGetInfo_v2, struct abi_compute_instance *handle,
         struct abi_compute_instance_info *ret) {
    int r = sim_begin("nvmlComputeInstanceGetInfo_v2");
    unsigned gpu;

    if (r) {
        return r;
    }
    struct sim_ci *ci = sim_mig_of(handle, &gpu);
    struct sim_gi *gi = ci ? sim_gi_by_id(&sim.gpu[gpu], ci->gi) : NULL;
    if (gi == NULL) {
        return sim_end(ABI_INVALID_ARGUMENT);
    }
    *ret =
        (struct abi_compute_instance_info){.device = (struct abi_device *)sim_device_handle(gpu),
                                           .gpu_instance = (struct abi_gpu_instance *)sim_gi_handle(
                                               gpu, (unsigned)(gi - sim.gpu[gpu].gi)),
                                           .id = ci->id,
                                           .profile_id = ci->profile,
                                           .placement = {ci->start, ci->size}};
    return sim_end(ABI_SUCCESS);
}

/*
 * nvml_scan: see nvml_scan.h.
 *
 * The query numbers of profiles are walked to their count; the id that comes back is what create
 * and placements take. What the hardware does not say is left out of the JSON, so that nobody reads
 * it as 0.
 */
#include "node/gpu/nvml_scan.h"

#include "base/vec.h"

static void add_text(struct buf *b, const char *name, const char *text) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, str_of(text));
}

void nvml_profile_name(unsigned query, unsigned slices, unsigned long long memory_mib,
                       unsigned long long total_mib, char out[32]) {
    static const char *const suffix[NVML_GPU_PROFILE_COUNT] = {
        [7] = "+me",  [8] = "+me",  [10] = "+gfx",    [11] = "+gfx",    [12] = "+gfx",
        [13] = "-me", [14] = "-me", [15] = "+me.all", [16] = "+me.all", [17] = "+gfx"};
    unsigned long long gib = (total_mib + 1023) / 1024;
    /* Eighths of the board, rounded up; then gigabytes, rounded to nearest. */
    unsigned long long eighths = total_mib ? (memory_mib * 8 + total_mib - 1) / total_mib : 0;
    const char *s = query < NVML_GPU_PROFILE_COUNT && suffix[query] ? suffix[query] : "";

    snprintf(out, 32, "%ug.%llugb%s", slices, (eighths * gib * 2 + 8) / 16, s);
}

static bool profile_at(struct nvml_lib *l, struct nvml_device *d, unsigned query,
                       struct nvml_gpu_profile *ret, char name[NVML_TEXT]) {
    struct nvml_gpu_profile_v2 v2 = {.version = NVML_STRUCT_VERSION(struct nvml_gpu_profile_v2, 2)};

    if (NVML_DO(l, DeviceGetGpuInstanceProfileInfo, d, query, ret)) {
        return false;
    }
    name[0] = 0;
    if (NVML_DO(l, DeviceGetGpuInstanceProfileInfoV, d, query, &v2) == 0) {
        v2.name[sizeof(v2.name) - 1] = 0;
        struct str n = str_of(v2.name);
        str_copy(str_starts(n, STR("MIG ")) ? str_skip(n, 4) : n, name, NVML_TEXT);
    }
    return true;
}

static void scan_profiles(struct nvml_lib *l, struct nvml_device *d, unsigned long long total_mib,
                          struct buf *b) {
    struct nvml_gpu_profile p;
    char name[NVML_TEXT];
    unsigned slices = 0, found = 0;

    buf_c(b, ",\"profiles\":[");
    for (unsigned query = 0; query < NVML_GPU_PROFILE_COUNT; query++) {
        struct nvml_placement v[32];
        unsigned n = 32, starts = 0, size = 0;

        if (!profile_at(l, d, query, &p, name) ||
            NVML_DO(l, DeviceGetGpuInstancePossiblePlacements, d, p.id, v, &n)) {
            continue;
        }
        for (unsigned i = 0; i < n && i < 32; i++) {
            starts |= v[i].start < 16 ? 1u << v[i].start : 0;
            size = v[i].size;
            slices = v[i].start + size > slices ? v[i].start + size : slices;
        }
        if (!name[0]) {
            nvml_profile_name(query, p.slices, p.memory_mib, total_mib, name);
        }
        buf_f(b,
              "%s{\"id\":%u,\"compute\":%u,\"size\":%u,\"max\":%u,\"memoryMiB\":%llu,\"starts\":%u",
              found++ ? "," : "", p.id, p.slices, size, p.instances, p.memory_mib, starts);
        buf_f(b, ",\"sm\":%u,\"copy\":%u,\"decoder\":%u,\"encoder\":%u,\"jpeg\":%u,\"ofa\":%u",
              p.sm, p.copy, p.decoders, p.encoders, p.jpegs, p.ofas);
        buf_f(b, ",\"media\":%s",
              query == 7 || query == 8 || query == 15 || query == 16 ? "true" : "false");
        add_text(b, "name", name);
        buf_ch(b, '}');
    }
    buf_f(b, "],\"slices\":%u", slices);
}

int nvml_scan_mig_uuid(struct nvml_lib *l, struct nvml_device *gpu, unsigned gi,
                       char out[NVML_TEXT]) {
    unsigned max = 0;
    int r = NVML_DO(l, DeviceGetMaxMigDeviceCount, gpu, &max);

    for (unsigned i = 0; r == 0 && i < max; i++) {
        struct nvml_device *mig;
        unsigned id;
        /* Indices have holes: anything but success means look further. */
        if (NVML_DO(l, DeviceGetMigDeviceHandleByIndex, gpu, i, &mig) == 0 &&
            NVML_DO(l, DeviceGetGpuInstanceId, mig, &id) == 0 && id == gi) {
            return NVML_DO(l, DeviceGetUUID, mig, out, NVML_TEXT);
        }
    }
    return r ? r : NVML_NOT_FOUND;
}

/* Percent of the graphics engines in use since the last call for this GPU (instance), or -1. */
static double gpm_percent(struct nvml_scan *s, struct nvml_device *d, unsigned gpu, unsigned gi) {
    struct nvml_gpm_kept *k = NULL;
    struct nvml_gpm_sample *now;
    double percent = -1;

    for (size_t i = 0; i < s->n_gpm && k == NULL; i++) {
        k = s->gpm[i].gpu == gpu && s->gpm[i].gi == gi ? &s->gpm[i] : NULL;
    }
    if (NVML_DO(s->lib, GpmSampleAlloc, &now)) {
        return -1;
    }
    int r = gi == NVML_WHOLE_GPU ? NVML_DO(s->lib, GpmSampleGet, d, now)
                                 : NVML_DO(s->lib, GpmMigSampleGet, d, gi, now);
    struct nvml_gpm_metrics *m = r ? NULL : mem_zalloc(sizeof(*m));
    if (m == NULL) {
        NVML_DO(s->lib, GpmSampleFree, now);
        return -1;
    }
    m->version = 1;
    m->n = 1;
    m->first = k ? k->last : now;
    m->second = now;
    m->v[0].id = NVML_GPM_GRAPHICS_UTIL;
    if (k && NVML_DO(s->lib, GpmMetricsGet, m) == 0 && m->v[0].result == 0 && m->v[0].value >= 0 &&
        m->v[0].value <= 100) {
        percent = m->v[0].value;
    }
    mem_free(m);
    if (k) {
        NVML_DO(s->lib, GpmSampleFree, k->last);
        k->last = now;
    } else if (vec_grow((void **)&s->gpm, &s->cap_gpm, s->n_gpm, 1, sizeof(*s->gpm)) == 0) {
        s->gpm[s->n_gpm++] = (struct nvml_gpm_kept){gpu, gi, now};
    } else {
        NVML_DO(s->lib, GpmSampleFree, now);
    }
    return percent;
}

/* GPU instances are found by profile; the same id may be asked for twice, by two query numbers. */
static void scan_instances(struct nvml_scan *s, struct nvml_device *d, unsigned gpu,
                           struct buf *b) {
    struct nvml_lib *l = s->lib;
    struct nvml_gpm_support gpm = {.version = 1};
    unsigned asked[NVML_GPU_PROFILE_COUNT], n_asked = 0, found = 0;

    if (NVML_DO(l, GpmQueryDeviceSupport, d, &gpm)) {
        gpm.supported = 0;
    }
    buf_c(b, ",\"instances\":[");
    for (unsigned query = 0; query < NVML_GPU_PROFILE_COUNT; query++) {
        struct nvml_gpu_profile p;
        struct nvml_gpu_instance *v[64];
        unsigned n = 64;
        bool again = false;

        if (NVML_DO(l, DeviceGetGpuInstanceProfileInfo, d, query, &p)) {
            continue;
        }
        for (unsigned i = 0; i < n_asked; i++) {
            again |= asked[i] == p.id;
        }
        asked[n_asked++] = p.id;
        if (again || p.instances > n || NVML_DO(l, DeviceGetGpuInstances, d, p.id, v, &n)) {
            continue;
        }
        for (unsigned i = 0; i < n; i++) {
            struct nvml_gpu_instance_info info;
            char uuid[NVML_TEXT] = "";
            if (NVML_DO(l, GpuInstanceGetInfo, v[i], &info)) {
                continue;
            }
            nvml_scan_mig_uuid(l, d, info.id, uuid);
            buf_f(b, "%s{\"gi\":%u,\"profile\":%u,\"start\":%u,\"size\":%u", found++ ? "," : "",
                  info.id, info.profile_id, info.placement.start, info.placement.size);
            add_text(b, "uuid", uuid);
            double percent = gpm.supported ? gpm_percent(s, d, gpu, info.id) : -1;
            if (percent >= 0) {
                buf_f(b, ",\"utilization\":%d", (int)(percent + 0.5));
            }
            buf_ch(b, '}');
        }
    }
    buf_ch(b, ']');
}

static void scan_numbers(struct nvml_lib *l, struct nvml_device *d, struct buf *b) {
    struct nvml_utilization u;
    struct nvml_memory_v2 m = {.version = NVML_STRUCT_VERSION(struct nvml_memory_v2, 2)};
    struct nvml_memory m1;
    unsigned long long energy;
    unsigned x;
    int r = NVML_DO(l, DeviceGetMemoryInfo_v2, d, &m);

    if (r && (r = NVML_DO(l, DeviceGetMemoryInfo, d, &m1)) == 0) {
        m.total = m1.total;
        m.used = m1.used;
    }
    if (r == 0) {
        buf_f(b, ",\"memoryMiB\":%llu,\"memoryUsedMiB\":%llu", m.total >> 20, m.used >> 20);
    }
    if (NVML_DO(l, DeviceGetTemperature, d, NVML_TEMPERATURE_GPU, &x) == 0) {
        buf_f(b, ",\"temperature\":%u", x);
    }
    if (NVML_DO(l, DeviceGetPowerUsage, d, &x) == 0) {
        buf_f(b, ",\"power\":%u", x);
    }
    if (NVML_DO(l, DeviceGetClockInfo, d, NVML_CLOCK_SM, &x) == 0) {
        buf_f(b, ",\"smClock\":%u", x);
    }
    if (NVML_DO(l, DeviceGetTotalEnergyConsumption, d, &energy) == 0) {
        buf_f(b, ",\"energy\":%llu", energy);
    }
    if (NVML_DO(l, DeviceGetUtilizationRates, d, &u) == 0) {
        buf_f(b, ",\"utilization\":%u", u.gpu);
    }
}

static void scan_identity(struct nvml_lib *l, struct nvml_device *d, struct buf *b) {
    struct nvml_pci pci;
    char text[NVML_TEXT];
    int major, minor;
    unsigned x;

    if (NVML_DO(l, DeviceGetName, d, text, sizeof(text)) == 0) {
        add_text(b, "name", text);
    }
    if (NVML_DO(l, DeviceGetPciInfo, d, &pci) == 0) {
        buf_f(b, ",\"board\":\"0x%08X\"", pci.device_id);
        pci.bus_id[sizeof(pci.bus_id) - 1] = 0;
        add_text(b, "pci", pci.bus_id);
    }
    if (NVML_DO(l, DeviceGetCudaComputeCapability, d, &major, &minor) == 0) {
        buf_f(b, ",\"computeMajor\":%d,\"computeMinor\":%d", major, minor);
    }
    if (NVML_DO(l, DeviceGetMinorNumber, d, &x) == 0) {
        buf_f(b, ",\"minor\":%u", x);
    }
}

static void scan_gpu(struct nvml_scan *s, unsigned index, bool all, struct buf *b) {
    struct nvml_lib *l = s->lib;
    struct nvml_memory m = {0};
    struct nvml_device *d;
    char uuid[NVML_TEXT] = "";
    unsigned mig = 0, pending = 0;
    int r = NVML_DO(l, DeviceGetHandleByIndex, index, &d);

    buf_f(b, "%s{\"index\":%u", index ? "," : "", index);
    if (r == 0) {
        r = NVML_DO(l, DeviceGetUUID, d, uuid, sizeof(uuid));
    }
    if (r) {
        add_text(b, "trouble", nvml_text(l, r));
        buf_ch(b, '}');
        return;
    }
    add_text(b, "uuid", uuid);
    scan_numbers(l, d, b);
    bool capable = NVML_DO(l, DeviceGetMigMode, d, &mig, &pending) == 0;
    buf_f(b, ",\"migCapable\":%s,\"mig\":%s,\"migPending\":%s", capable ? "true" : "false",
          mig ? "true" : "false", pending ? "true" : "false");
    if (all) {
        scan_identity(l, d, b);
        NVML_DO(l, DeviceGetMemoryInfo, d, &m);
    }
    if (all && capable) {
        scan_profiles(l, d, m.total >> 20, b);
    }
    if (mig) {
        scan_instances(s, d, index, b);
    }
    buf_ch(b, '}');
}

static void scan(struct nvml_scan *s, bool all, struct buf *b) {
    unsigned n = 0;

    NVML_DO(s->lib, DeviceGetCount, &n);
    buf_c(b, ",\"gpus\":[");
    for (unsigned i = 0; i < n && i < NVML_SCAN_GPUS; i++) {
        scan_gpu(s, i, all, b);
    }
    buf_ch(b, ']');
}

void nvml_scan_all(struct nvml_scan *s, struct buf *b) {
    char text[NVML_TEXT];
    int cuda;

    if (NVML_DO(s->lib, SystemGetDriverVersion, text, sizeof(text)) == 0) {
        add_text(b, "driver", text);
    }
    if (NVML_DO(s->lib, SystemGetCudaDriverVersion, &cuda) == 0) {
        buf_f(b, ",\"cudaMajor\":%d,\"cudaMinor\":%d", cuda / 1000, cuda % 1000 / 10);
    }
    scan(s, true, b);
}

void nvml_scan_telemetry(struct nvml_scan *s, struct buf *b) {
    scan(s, false, b);
}

void nvml_scan_release(struct nvml_scan *s) {
    for (size_t i = 0; i < s->n_gpm; i++) {
        NVML_DO(s->lib, GpmSampleFree, s->gpm[i].last);
    }
    mem_free(s->gpm);
    *s = (struct nvml_scan){0};
}

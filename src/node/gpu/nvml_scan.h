/*
 * nvml_scan: what the driver knows, as JSON. Part of the helper process.
 */
#ifndef BERTH_NODE_NVML_SCAN_H
#define BERTH_NODE_NVML_SCAN_H

#include "base/buf.h"
#include "node/gpu/nvml_lib.h"

enum { NVML_SCAN_GPUS = 64 };

/* GPM needs two samples some time apart: the last one of each GPU or GPU instance is kept between
 * calls. */
struct nvml_gpm_kept {
    unsigned gpu, gi;
    struct nvml_gpm_sample *last;
};

struct nvml_scan {
    struct nvml_lib *lib;
    struct nvml_gpm_kept *gpm;
    size_t n_gpm, cap_gpm;
};

void nvml_scan_release(struct nvml_scan *s);

/* Appends "driver":..., "gpus":[...]: identity, geometry, instances and telemetry of every GPU. */
void nvml_scan_all(struct nvml_scan *s, struct buf *out);
/* Appends "gpus":[...] with telemetry alone. */
void nvml_scan_telemetry(struct nvml_scan *s, struct buf *out);

/* UUID of the MIG device in GPU instance gi; NOT_FOUND when there is none. */
int nvml_scan_mig_uuid(struct nvml_lib *l, struct nvml_device *gpu, unsigned gi,
                       char out[NVML_TEXT]);
/* A profile's name by rule ("1g.18gb+me"), for drivers that do not say it. */
void nvml_profile_name(unsigned query, unsigned slices, unsigned long long memory_mib,
                       unsigned long long total_mib, char out[32]);

#endif

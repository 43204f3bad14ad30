/*
 * gpu_models (core): a catalogue of GPU models with their memory, MIG slices and bandwidth, for questions about
 * hardware that no node reports, and for the bandwidth, which NVML does not report.
 *
 * Memory is what nvidia-smi shows for a card and for an instance (MiB); bandwidth comes from the maker's data sheet
 * (GB/s). A slice has a share of the bandwidth: size / slices. The inventory of a node (api/inventory.h) always takes
 * precedence over this list, because names and sizes of profiles depend on the driver.
 */
#ifndef BERTH_CORE_MODEL_GPU_MODELS_H
#define BERTH_CORE_MODEL_GPU_MODELS_H

#include "base/str.h"
#include "core/model/fit.h"

enum { GPU_MODEL_SLICES_MAX = 6 };

struct gpu_model_slice {
    const char *name; /* "3g.71gb"; NULL: there are no more */
    int32_t memory_mib, size;
};

struct gpu_model {
    const char *name; /* "H200" */
    const char *
        match; /* other parts of names, "A|B", that a driver's name must have one of as well; NULL: none */
    int32_t memory_mib, bandwidth; /* GB/s */
    int32_t slices;                /* memory slices; 0: no MIG */
    struct gpu_model_slice parts[GPU_MODEL_SLICES_MAX];
};

/* NULL behind the last. */
const struct gpu_model *gpu_models_at(size_t i);
/* By "H200", "h200" or what a driver says ("NVIDIA H200 NVL"), of cards with about so much memory (MiB; 0: any);
 * NULL: it is not in the list. */
const struct gpu_model *gpu_models_find(struct str name, int32_t memory_mib);

struct fit_device gpu_models_card(const struct gpu_model *m);
struct fit_device gpu_models_part(const struct gpu_model *m, const struct gpu_model_slice *s);

#endif

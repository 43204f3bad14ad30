/*
 * nvml_lib: opens libnvidia-ml.so.1 and resolves what nvml.h names; a missing symbol is a feature
 * that is off.
 *
 * Used by the helper process alone (nvml_helper.c): calls into a driver can hang. Every call goes
 * through NVML_DO, which answers FUNCTION_NOT_FOUND for what this library does not have.
 */
#ifndef BERTH_NODE_NVML_LIB_H
#define BERTH_NODE_NVML_LIB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "node/gpu/nvml.h"

struct nvml_lib {
    void *dl;
    const char *(*ErrorString)(int);
#define NVML_MEMBER(name, suffixes, args) int(*name) args;
    NVML_CALLS(NVML_MEMBER)
#undef NVML_MEMBER
    int (*BerthSimHold)(const char *uuid,
                        unsigned processes); /* only the simulated library has it */
};

/* path NULL or empty: the usual name, then the usual folders. Opens and initialises; a machine
 * whose GPUs are all lost still opens. ERR_NOT_FOUND: no library. ERR_UNAVAILABLE: no driver behind
 * it. */
int nvml_lib_open(struct nvml_lib *l, const char *path, struct err *err);
/* The i-th file that may be the library, for a look at whether it is there; false: there are no more. */
bool nvml_lib_place(const char *path, size_t i, char out[1024]);
void nvml_lib_close(struct nvml_lib *l);

/* Text of a result; never NULL. */
const char *nvml_text(const struct nvml_lib *l, int result);

#define NVML_DO(l, name, ...) ((l)->name ? (l)->name(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

#endif

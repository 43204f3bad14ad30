/*
 * gpu_files: the device files that a process needs for the GPUs and MIG instances it was given, and for no others.
 *
 * With any GPU: nvidiactl, nvidia-uvm, nvidia-uvm-tools. A card: nvidia<minor>. A MIG instance: its card's file,
 * which alone lets nobody compute, and the capabilities of the GPU instance and of its compute instance,
 * nvidia-caps/nvidia-cap<minor>, whose numbers the driver tells below /proc/driver/nvidia/capabilities. Major numbers
 * are from /proc/devices, so that a file can be made that the driver's tools have not made yet.
 */
#ifndef BERTH_NODE_GPU_FILES_H
#define BERTH_NODE_GPU_FILES_H

#include "base/err.h"
#include "node/gpu/gpus.h"

enum { GPU_FILES_MAX = 128 };

struct gpu_file {
    char name[48]; /* below /dev */
    unsigned major, minor;
};

/* The files for these places, each once. `root` is "" but in tests: where /proc is. ERR_NOT_FOUND when the driver
 * does not tell a number. */
int gpu_files_list(const char *root, const struct gpu_where *v, size_t n,
                   struct gpu_file out[GPU_FILES_MAX], size_t *ret_n, struct err *err);

#endif

/*
 * gpus_signs: cheap signs of GPUs and their driver: the library, the driver's version, the PCI devices that it has, its
 * control file. A library that is open counts its GPUs once, so that what comes later shows here alone.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "node/files/files.h"
#include "node/gpu/gpus_private.h"
#include "node/gpu/nvml_lib.h"

static uint64_t mix(uint64_t h, struct str s) {
    return (h ^ str_hash(s)) * UINT64_C(0x100000001b3);
}

/* The library's files, and whether the driver has its control file. */
static uint64_t mix_file(uint64_t h, const char *path) {
    struct stat st;
    char text[160];
    int n = stat(path, &st) == -1
                ? snprintf(text, sizeof(text), "-")
                : snprintf(text, sizeof(text), "%llu %lld %lld", (unsigned long long)st.st_ino,
                           (long long)st.st_size, (long long)st.st_mtim.tv_sec);

    return mix(h, str_from(text, (size_t)n));
}

static uint64_t mix_version(uint64_t h, const char *root) {
    char dir[PATH_LEN];
    struct arena a;
    struct str text;

    arena_init(&a, 1 << 16);
    if (path_join(dir, root, "proc/driver/nvidia", NULL) == 0 &&
        file_load(dir, "version", &a, &text, NULL) == 0) {
        h = mix(h, text);
    }
    arena_release(&a);
    return h;
}

/* In whatever order the folder has them. */
static uint64_t mix_devices(uint64_t h, const char *root) {
    char path[PATH_LEN];
    struct dirent *e;
    uint64_t sum = 0;
    DIR *d = path_join(path, root, "sys/bus/pci/drivers/nvidia", NULL) ? NULL : opendir(path);

    while (d && (e = readdir(d))) {
        sum += strchr(e->d_name, ':') ? str_hash(str_of(e->d_name)) : 0;
    }
    if (d) {
        closedir(d);
    }
    return (h ^ sum) * UINT64_C(0x100000001b3);
}

uint64_t gpus_signs(const char *root, const char *library) {
    char path[PATH_LEN];
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; nvml_lib_place(library, i, path); i++) {
        h = mix_file(h, path);
    }
    h = path_join(path, root, "dev/nvidiactl", NULL) ? h : mix_file(h, path);
    return mix_devices(mix_version(h, root), root);
}

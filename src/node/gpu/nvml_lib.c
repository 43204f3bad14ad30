/* nvml_lib: see nvml_lib.h. */
#include "node/gpu/nvml_lib.h"

#include <dlfcn.h>

#include "base/str.h"

static const char *const folders[] = {
    "",
    "/usr/lib/x86_64-linux-gnu/",
    "/usr/lib/aarch64-linux-gnu/",
    "/usr/lib64/",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/",
    "/run/nvidia/driver/usr/lib64/",
};

/* Tries each suffix in order; "_v2,," is _v2 and then the bare name. */
static void *resolve(void *dl, const char *name, const char *suffixes) {
    struct str rest = str_of(suffixes), suffix;
    char full[128];

    while (str_next(&rest, ',', &suffix)) {
        snprintf(full, sizeof(full), "nvml%s%.*s", name, STR_ARG(suffix));
        dlerror();
        void *p = dlsym(dl, full);
        if (p) {
            return p;
        }
    }
    return NULL;
}

static void *open_any(const char *path) {
    char full[256];
    void *dl = NULL;

    if (path && *path) {
        return dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    }
    for (size_t i = 0; dl == NULL && i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(full, sizeof(full), "%slibnvidia-ml.so.1", folders[i]);
        dl = dlopen(full, RTLD_LAZY | RTLD_GLOBAL);
    }
    return dl;
}

bool nvml_lib_place(const char *path, size_t i, char out[1024]) {
    if (path && *path) {
        return i == 0 && snprintf(out, 1024, "%s", path) < 1024;
    }
    /* The first place is the loader's own business: its folders are among the others. */
    return i + 1 < sizeof(folders) / sizeof(folders[0]) &&
           snprintf(out, 1024, "%slibnvidia-ml.so.1", folders[i + 1]) < 1024;
}

int nvml_lib_open(struct nvml_lib *l, const char *path, struct err *err) {
    *l = (struct nvml_lib){0};
    l->dl = open_any(path);
    if (l->dl == NULL) {
        const char *why = dlerror();
        return err_set(err, ERR_NOT_FOUND, "no NVIDIA library: %s", why ? why : "not found");
    }
#define NVML_RESOLVE(name, suffixes, args)                                                         \
    {                                                                                              \
        void *p = resolve(l->dl, #name, suffixes);                                                 \
        memcpy(&l->name, &p, sizeof(p));                                                           \
    }
    NVML_CALLS(NVML_RESOLVE)
#undef NVML_RESOLVE
    void *p = resolve(l->dl, "ErrorString", ",");
    memcpy(&l->ErrorString, &p, sizeof(p));
    p = resolve(l->dl, "BerthSimHold", ",");
    memcpy(&l->BerthSimHold, &p, sizeof(p));

    int r = NVML_DO(l, InitWithFlags, NVML_INIT_NO_GPUS);
    if (r) {
        int code =
            err_set(err, ERR_UNAVAILABLE, "the NVIDIA driver does not answer: %s", nvml_text(l, r));
        dlclose(l->dl);
        *l = (struct nvml_lib){0};
        return code;
    }
    return 0;
}

void nvml_lib_close(struct nvml_lib *l) {
    if (l->dl) {
        NVML_DO(l, Shutdown);
        dlclose(l->dl);
    }
    *l = (struct nvml_lib){0};
}

const char *nvml_text(const struct nvml_lib *l, int result) {
    switch (result) {
    case NVML_INSUFFICIENT_RESOURCES:
        return "insufficient resources";
    case NVML_IN_USE:
        return "in use";
    case NVML_GPU_IS_LOST:
        return "the GPU is lost";
    case NVML_RESET_REQUIRED:
        return "the GPU needs a reset";
    case NVML_FUNCTION_NOT_FOUND:
        return "this driver does not know the call";
    case NVML_NO_PERMISSION:
        return "no permission";
    default:
        break;
    }
    const char *text = l->ErrorString ? l->ErrorString(result) : NULL;
    return text ? text : "NVML error";
}

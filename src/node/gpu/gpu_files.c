/* gpu_files: see gpu_files.h. */
#include "node/gpu/gpu_files.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "node/files/files.h"

enum { UVM_TOOLS = 1, CONTROL = 255, NVIDIA_MAJOR = 195 };

struct gpu_lister {
    const char *root;
    struct gpu_file *out;
    size_t n;
    unsigned nvidia, uvm, caps; /* major numbers; 0: the driver has none */
    struct arena arena;
    struct err *err;
};

static int load(struct gpu_lister *l, const char *folder, const char *name, struct str *ret) {
    char dir[PATH_LEN];
    int n = snprintf(dir, sizeof(dir), "%s%s", l->root, folder);

    return n >= (int)sizeof(dir) ? err_set(l->err, ERR_TOO_LARGE, "%s", folder)
                                 : file_load(dir, name, &l->arena, ret, l->err);
}

/* Lines of /proc/devices: "195 nvidia-frontend" or "195 nvidia", "510 nvidia-uvm", "511 nvidia-caps". */
static int read_majors(struct gpu_lister *l) {
    struct str text, line, number;
    uint64_t major;
    int code = load(l, "/proc", "devices", &text);

    l->nvidia = NVIDIA_MAJOR;
    while (code == 0 && str_next(&text, '\n', &line)) {
        line = str_trim(line);
        if (!str_next(&line, ' ', &number) || !str_to_u64(number, &major)) {
            continue;
        }
        line = str_trim(line);
        if (str_is(line, "nvidia-frontend") || str_is(line, "nvidia")) {
            l->nvidia = (unsigned)major;
        } else if (str_is(line, "nvidia-uvm")) {
            l->uvm = (unsigned)major;
        } else if (str_is(line, "nvidia-caps")) {
            l->caps = (unsigned)major;
        }
    }
    return code;
}

static int add(struct gpu_lister *l, unsigned major, unsigned minor, const char *name) {
    for (size_t i = 0; i < l->n; i++) {
        if (!strcmp(l->out[i].name, name)) {
            return 0;
        }
    }
    if (l->n == GPU_FILES_MAX) {
        return err_set(l->err, ERR_TOO_MANY, "more than %d device files", GPU_FILES_MAX);
    }
    l->out[l->n] = (struct gpu_file){.major = major, .minor = minor};
    snprintf(l->out[l->n].name, sizeof(l->out[l->n].name), "%s", name);
    l->n++;
    return 0;
}

/* "DeviceFileMinor: 21" of a capability. */
static int add_capability(struct gpu_lister *l, const char *folder) {
    struct str text, line;
    uint64_t minor;
    char name[48];
    int code = load(l, folder, "access", &text);

    if (code) {
        return code;
    }
    while (str_next(&text, '\n', &line)) {
        if (str_starts(line, STR("DeviceFileMinor:")) &&
            str_to_u64(str_trim(str_skip(line, strlen("DeviceFileMinor:"))), &minor) &&
            minor < 1 << 20) {
            snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", (unsigned)minor);
            return l->caps ? add(l, l->caps, (unsigned)minor, name)
                           : err_set(l->err, ERR_NOT_FOUND, "/proc/devices has no nvidia-caps");
        }
    }
    return err_set(l->err, ERR_NOT_FOUND, "%s/access tells no DeviceFileMinor", folder);
}

static int add_place(struct gpu_lister *l, const struct gpu_where *w) {
    char name[48], folder[128];

    if (w->card < 0) {
        return err_set(l->err, ERR_NOT_FOUND, "the driver tells no device number of the GPU");
    }
    snprintf(name, sizeof(name), "nvidia%d", (int)w->card);
    int code = add(l, l->nvidia, (unsigned)w->card, name);
    if (code || w->instance < 0) {
        return code;
    }
    /* An instance of ours has one compute instance, which is all of it. */
    static const char *const parts[] = {"", "/ci0"};
    for (size_t i = 0; i < 2 && code == 0; i++) {
        snprintf(folder, sizeof(folder), "/proc/driver/nvidia/capabilities/gpu%d/mig/gi%d%s",
                 (int)w->card, (int)w->instance, parts[i]);
        code = add_capability(l, folder);
    }
    return code;
}

int gpu_files_list(const char *root, const struct gpu_where *v, size_t n,
                   struct gpu_file out[GPU_FILES_MAX], size_t *ret_n, struct err *err) {
    struct gpu_lister l = {.root = root, .out = out, .err = err};

    arena_init(&l.arena, 4 << 20);
    int code = n ? read_majors(&l) : 0;
    if (code == 0 && n) {
        code = add(&l, l.nvidia, CONTROL, "nvidiactl");
    }
    if (code == 0 && n && l.uvm) {
        code = add(&l, l.uvm, 0, "nvidia-uvm");
        code = code ? code : add(&l, l.uvm, UVM_TOOLS, "nvidia-uvm-tools");
    }
    for (size_t i = 0; i < n && code == 0; i++) {
        code = add_place(&l, &v[i]);
    }
    arena_release(&l.arena);
    if (code == 0) {
        *ret_n = l.n;
    }
    return code;
}

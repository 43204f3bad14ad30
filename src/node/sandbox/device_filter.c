/* device_filter: see device_filter.h. */
#include "node/sandbox/device_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/files/files.h"

enum { ANY = -1, PLAIN_PROGRAM = 8, RULE = 4, TERMINALS = 136 };

static const struct {
    int major, minor;
} common[] = {{1, 3}, {1, 5}, {1, 7}, {1, 8}, {1, 9}, {5, 0}, {5, 2}, {TERMINALS, ANY}};

enum { COMMON = sizeof(common) / sizeof(common[0]) };

/* ---- v1 ---- */

static int put(const char *dir, const char *file, const char *text) {
    char path[PATH_LEN];
    int fd = path_join(path, dir, file, NULL) ? -1 : open(path, O_WRONLY | O_CLOEXEC);
    int e = fd == -1 || write(fd, text, strlen(text)) == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    return e;
}

static int allow(const char *dir, int major, int minor) {
    char text[64];

    if (minor == ANY) {
        snprintf(text, sizeof(text), "c %d:* rw", major);
    } else {
        snprintf(text, sizeof(text), "c %d:%d rw", major, minor);
    }
    return put(dir, "devices.allow", text);
}

int device_filter_v1_dir(const char *root, const struct sandbox *s, char ret_dir[PATH_LEN]) {
    return path_join(ret_dir, root, s->n_devices ? s->cgroup_name : "berth/plain", NULL);
}

int device_filter_v1(const char *root, const struct sandbox *s, char ret_dir[PATH_LEN]) {
    char base[PATH_LEN];

    if (path_join(base, root, "berth", NULL) || device_filter_v1_dir(root, s, ret_dir)) {
        return ENAMETOOLONG;
    }
    if (mkdir(base, 0755) == -1 && errno != EEXIST) {
        return errno;
    }
    bool made = mkdir(ret_dir, 0755) == 0;
    if (!made && errno != EEXIST) {
        return errno;
    }
    if (!made && !s->n_devices) {
        return 0; /* its rules were written by who made it, or are being written: they only get narrower */
    }
    int e = put(ret_dir, "devices.deny", "a");
    for (size_t i = 0; i < COMMON && e == 0; i++) {
        e = allow(ret_dir, common[i].major, common[i].minor);
    }
    for (size_t i = 0; i < s->n_devices && e == 0; i++) {
        e = allow(ret_dir, (int)s->devices[i].major, (int)s->devices[i].minor);
    }
    return e;
}

void device_filter_v1_remove(const char *root, const char *cgroup_name) {
    char dir[PATH_LEN];

    if (path_join(dir, root, cgroup_name, NULL) == 0) {
        rmdir(dir);
    }
}

/* ---- v2 ---- */

static struct bpf_insn insn(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm) {
    return (struct bpf_insn){.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm};
}

/* "return 1 if major and minor are these": four instructions, after which comes the next rule. */
static size_t add_rule(struct bpf_insn *p, int major, int minor) {
    p[0] = insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 0, 3, major);
    p[1] = minor == ANY ? insn(BPF_JMP | BPF_JA, 0, 0, 0, 0)
                        : insn(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_5, 0, 2, minor);
    p[2] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
    p[3] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return RULE;
}

/* A character device that is read or written, not made; then the rules; then no. */
static size_t write_program(struct bpf_insn *p, const struct sandbox_device *v, size_t n) {
    size_t k = 0;

    p[k++] = insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 0, 0);
    p[k++] = insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_4, BPF_REG_1, 4, 0);
    p[k++] = insn(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_5, BPF_REG_1, 8, 0);
    p[k++] = insn(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0,
                  0xffff | BPF_DEVCG_ACC_MKNOD << 16); /* type, and whether it is to be made */
    p[k++] = insn(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 2, BPF_DEVCG_DEV_CHAR);
    p[k++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
    p[k++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    for (size_t i = 0; i < COMMON; i++) {
        k += add_rule(p + k, common[i].major, common[i].minor);
    }
    for (size_t i = 0; i < n; i++) {
        k += add_rule(p + k, (int)v[i].major, (int)v[i].minor);
    }
    p[k++] = insn(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
    p[k++] = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return k;
}

static int bpf(int command, union bpf_attr *a) {
    return (int)syscall(SYS_bpf, command, a, sizeof(*a));
}

int device_filter_v2(const char *dir, const struct sandbox_device *v, size_t n) {
    static struct bpf_insn program[PLAIN_PROGRAM + 1 + RULE * (COMMON + DEVICES_MAX)];
    union bpf_attr load = {.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE},
                   attach = {.attach_type = BPF_CGROUP_DEVICE, .attach_flags = BPF_F_ALLOW_MULTI};

    load.insn_cnt = (uint32_t)write_program(program, v, n < DEVICES_MAX ? n : DEVICES_MAX);
    load.insns = (uint64_t)(uintptr_t)program;
    load.license = (uint64_t)(uintptr_t) "GPL";
    int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        fd = group == -1 ? -1 : bpf(BPF_PROG_LOAD, &load);
    attach.target_fd = (uint32_t)group;
    attach.attach_bpf_fd = (uint32_t)fd;
    int e = fd == -1 || bpf(BPF_PROG_ATTACH, &attach) == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    if (group != -1) {
        close(group);
    }
    return e;
}

/*
 * nvml_helper: the process that talks to the driver, so that a driver that hangs hangs nobody else.
 *
 * It is executed (`berth nvml-helper [LIBRARY]`), reads one request a line on descriptor 0 and
 * answers one JSON object a line on descriptor 1, in order. It ends when its input ends. Requests:
 *
 *     ID scan                              everything; "listening": of how many GPUs Xids are heard
 *     ID poll                              telemetry, instances and the events since the last poll
 *     ID mode GPU 0|1                      MIG mode; "activation" is the driver's second answer
 * ID create GPU PROFILE START SIZE     a GPU instance there, its full compute instance; "uuid",
 * "gi"
 *     ID destroy GPU PROFILE START         that instance, compute instances first
 *     ID hold UUID N                       simulated GPUs only: N processes use it
 *
 * A create that failed after its first step is undone; where that failed as well, "left" is the memory
 * slice at which the GPU instance was left behind.
 *
 * An answer is {"id":N,"result":R,"error":"..."...}; R is NVML's own code, 0 when it worked. Before
 * the first request comes an answer with id 0 that says whether the library could be opened ("code"
 * is ours then).
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "node/gpu/nvml_scan.h"
#include "node/node.h"

enum { REQUEST_MAX = 512, ARGS_MAX = 6, ANSWER_MAX = 8 << 20 };

struct helper {
    struct nvml_lib lib;
    struct nvml_scan scan;
    struct nvml_event_set *events;
    struct {
        struct nvml_device *device;
        char uuid[NVML_TEXT];
    } listened[NVML_SCAN_GPUS]; /* a GPU that is lost no longer says who it is */
    size_t n_listened;
    struct buf out;
    const char *args[ARGS_MAX];
    size_t n_args;
};

static struct nvml_device *find_gpu(struct helper *h, const char *uuid) {
    char text[NVML_TEXT];
    struct nvml_device *d;
    unsigned n = 0;

    NVML_DO(&h->lib, DeviceGetCount, &n);
    for (unsigned i = 0; i < n; i++) {
        if (NVML_DO(&h->lib, DeviceGetHandleByIndex, i, &d) == 0 &&
            NVML_DO(&h->lib, DeviceGetUUID, d, text, sizeof(text)) == 0 && !strcmp(text, uuid)) {
            return d;
        }
    }
    return NULL;
}

static bool number(const char *text, unsigned *ret) {
    uint64_t v;

    if (text == NULL || !str_to_u64(str_of(text), &v) || v > 1023) {
        return false;
    }
    *ret = (unsigned)v;
    return true;
}

static void listen_to_events(struct helper *h) {
    unsigned n = 0;

    if (NVML_DO(&h->lib, EventSetCreate, &h->events)) {
        h->events = NULL;
        return;
    }
    NVML_DO(&h->lib, DeviceGetCount, &n);
    for (unsigned i = 0; i < n && h->n_listened < NVML_SCAN_GPUS; i++) {
        struct nvml_device *d;
        unsigned long long can = 0;
        char *uuid = h->listened[h->n_listened].uuid;
        if (NVML_DO(&h->lib, DeviceGetHandleByIndex, i, &d) == 0 &&
            NVML_DO(&h->lib, DeviceGetSupportedEventTypes, d, &can) == 0 &&
            (can & NVML_EVENT_XID) &&
            NVML_DO(&h->lib, DeviceRegisterEvents, d, NVML_EVENT_XID, h->events) == 0 &&
            NVML_DO(&h->lib, DeviceGetUUID, d, uuid, NVML_TEXT) == 0) {
            h->listened[h->n_listened++].device = d;
        }
    }
}

static struct str listened_uuid(const struct helper *h, const struct nvml_device *d) {
    for (size_t i = 0; i < h->n_listened; i++) {
        if (h->listened[i].device == d) {
            return str_of(h->listened[i].uuid);
        }
    }
    return STR("");
}

static int do_scan(struct helper *h) {
    buf_f(&h->out, ",\"listening\":%zu", h->n_listened);
    nvml_scan_all(&h->scan, &h->out);
    return 0;
}

static int do_poll(struct helper *h) {
    /* A library without the second form of the call leaves the last two alone. */
    struct nvml_event e = {.gpu_instance = NVML_WHOLE_GPU, .compute_instance = NVML_WHOLE_GPU};
    size_t n = 0;

    buf_c(&h->out, ",\"xids\":[");
    while (h->events && n < 64 && NVML_DO(&h->lib, EventSetWait, h->events, &e, 0) == 0) {
        if (!(e.type & NVML_EVENT_XID)) {
            continue;
        }
        buf_f(&h->out, "%s{\"gpu\":", n++ ? "," : "");
        buf_json(&h->out, listened_uuid(h, e.device));
        buf_f(&h->out, ",\"xid\":%llu,\"gi\":%d}", e.data,
              e.gpu_instance == NVML_WHOLE_GPU ? -1 : (int)e.gpu_instance);
    }
    buf_ch(&h->out, ']');
    nvml_scan_telemetry(&h->scan, &h->out);
    return 0;
}

static int do_mode(struct helper *h) {
    struct nvml_device *d = h->n_args == 2 ? find_gpu(h, h->args[0]) : NULL;
    int activation = 0;
    unsigned mode;

    if (d == NULL || !number(h->args[1], &mode) || mode > 1) {
        return d ? NVML_INVALID_ARGUMENT : NVML_NOT_FOUND;
    }
    int r = NVML_DO(&h->lib, DeviceSetMigMode, d, mode, &activation);
    buf_f(&h->out, ",\"activation\":%d", activation);
    return r ? r : activation;
}

static int compute_profile(struct helper *h, struct nvml_gpu_instance *gi, unsigned query,
                           struct nvml_compute_profile *ret) {
    return NVML_DO(&h->lib, GpuInstanceGetComputeInstanceProfileInfo, gi, query,
                   NVML_CI_ENGINE_SHARED, ret);
}

/* The compute instance that uses the whole GPU instance; without one the GPU instance is not
 * usable. */
static int make_full_compute(struct helper *h, struct nvml_gpu_instance *gi) {
    struct nvml_compute_instance *ci;
    struct nvml_compute_profile p, best = {0};
    int r = NVML_NOT_SUPPORTED;

    for (unsigned q = 0; q < NVML_CI_PROFILE_COUNT; q++) {
        if (compute_profile(h, gi, q, &p) == 0 && p.slices > best.slices) {
            best = p;
            r = 0;
        }
    }
    return r ? r : NVML_DO(&h->lib, GpuInstanceCreateComputeInstance, gi, best.id, &ci);
}

static int destroy_compute(struct helper *h, struct nvml_gpu_instance *gi);

/* Undoes what a create did; what cannot be undone is told. */
static void undo_create(struct helper *h, struct nvml_gpu_instance *gi, unsigned start) {
    destroy_compute(h, gi);
    if (NVML_DO(&h->lib, GpuInstanceDestroy, gi)) {
        buf_f(&h->out, ",\"left\":%u", start);
    }
}

/* A driver without exact placement may still choose the right one; anything else is undone. */
static int make_gpu_instance(struct helper *h, struct nvml_device *d, unsigned profile,
                             const struct nvml_placement *where, struct nvml_gpu_instance **ret,
                             struct nvml_gpu_instance_info *info) {
    int r = NVML_DO(&h->lib, DeviceCreateGpuInstanceWithPlacement, d, profile, where, ret);

    if (r == NVML_FUNCTION_NOT_FOUND) {
        r = NVML_DO(&h->lib, DeviceCreateGpuInstance, d, profile, ret);
    }
    if (r) {
        return r;
    }
    r = NVML_DO(&h->lib, GpuInstanceGetInfo, *ret, info);
    if (r == 0 && info->placement.start == where->start) {
        return 0;
    }
    undo_create(h, *ret, r ? where->start : info->placement.start);
    return r ? r : NVML_INSUFFICIENT_RESOURCES;
}

static int destroy_compute(struct helper *h, struct nvml_gpu_instance *gi) {
    int result = 0;

    for (unsigned q = 0; q < NVML_CI_PROFILE_COUNT; q++) {
        struct nvml_compute_profile p;
        struct nvml_compute_instance *v[64];
        unsigned n = 64;
        if (compute_profile(h, gi, q, &p) ||
            NVML_DO(&h->lib, GpuInstanceGetComputeInstances, gi, p.id, v, &n)) {
            continue;
        }
        for (unsigned i = 0; i < n; i++) {
            int r = NVML_DO(&h->lib, ComputeInstanceDestroy, v[i]);
            result = result ? result : r;
        }
    }
    return result;
}

static int do_create(struct helper *h) {
    struct nvml_device *d = h->n_args == 4 ? find_gpu(h, h->args[0]) : NULL;
    struct nvml_placement where;
    struct nvml_gpu_instance *gi;
    struct nvml_gpu_instance_info info;
    char uuid[NVML_TEXT] = "";
    unsigned profile;

    if (d == NULL || !number(h->args[1], &profile) || !number(h->args[2], &where.start) ||
        !number(h->args[3], &where.size)) {
        return d ? NVML_INVALID_ARGUMENT : NVML_NOT_FOUND;
    }
    int r = make_gpu_instance(h, d, profile, &where, &gi, &info);
    if (r) {
        return r;
    }
    r = make_full_compute(h, gi);
    if (r == 0) {
        r = nvml_scan_mig_uuid(&h->lib, d, info.id, uuid);
    }
    if (r) {
        undo_create(h, gi, where.start);
        return r;
    }
    buf_f(&h->out, ",\"gi\":%u,\"uuid\":", info.id);
    buf_json(&h->out, str_of(uuid));
    return 0;
}

static int do_destroy(struct helper *h) {
    struct nvml_device *d = h->n_args == 3 ? find_gpu(h, h->args[0]) : NULL;
    struct nvml_gpu_instance *v[64];
    unsigned profile, start, n = 64;

    if (d == NULL || !number(h->args[1], &profile) || !number(h->args[2], &start)) {
        return d ? NVML_INVALID_ARGUMENT : NVML_NOT_FOUND;
    }
    int r = NVML_DO(&h->lib, DeviceGetGpuInstances, d, profile, v, &n);
    for (unsigned i = 0; r == 0 && i < n; i++) {
        struct nvml_gpu_instance_info info;
        if (NVML_DO(&h->lib, GpuInstanceGetInfo, v[i], &info) || info.placement.start != start) {
            continue;
        }
        r = destroy_compute(h, v[i]);
        return r ? r : NVML_DO(&h->lib, GpuInstanceDestroy, v[i]);
    }
    return r ? r : NVML_NOT_FOUND;
}

static int do_hold(struct helper *h) {
    unsigned n;

    if (h->n_args != 2 || !number(h->args[1], &n)) {
        return NVML_INVALID_ARGUMENT;
    }
    return h->lib.BerthSimHold ? h->lib.BerthSimHold(h->args[0], n) : NVML_FUNCTION_NOT_FOUND;
}

static const struct {
    const char *name;
    int (*run)(struct helper *h);
} verbs[] = {
    {"scan", do_scan},     {"poll", do_poll},       {"mode", do_mode},
    {"create", do_create}, {"destroy", do_destroy}, {"hold", do_hold},
};

static bool send_all(struct buf *b) {
    const char *p = b->p;
    size_t n = b->n;

    while (n && buf_ok(b) == 0) {
        ssize_t k = write(STDOUT_FILENO, p, n);
        if (k == -1 && errno != EINTR) {
            return false;
        }
        p += k > 0 ? k : 0;
        n -= k > 0 ? (size_t)k : 0;
    }
    return buf_ok(b) == 0;
}

static bool answer(struct helper *h, char *line) {
    char *save = NULL, *id = strtok_r(line, " ", &save), *verb = strtok_r(NULL, " ", &save);
    uint64_t n_id = 0;
    int r = NVML_INVALID_ARGUMENT;

    for (h->n_args = 0; h->n_args < ARGS_MAX; h->n_args++) {
        h->args[h->n_args] = strtok_r(NULL, " ", &save);
        if (h->args[h->n_args] == NULL) {
            break;
        }
    }
    if (id == NULL || !str_to_u64(str_of(id), &n_id)) {
        return false;
    }
    buf_reset(&h->out);
    buf_f(&h->out, "{\"id\":%llu", (unsigned long long)n_id);
    for (size_t i = 0; verb && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (!strcmp(verb, verbs[i].name)) {
            r = verbs[i].run(h);
        }
    }
    buf_f(&h->out, ",\"result\":%d", r);
    if (r) {
        buf_c(&h->out, ",\"error\":");
        buf_json(&h->out, str_of(nvml_text(&h->lib, r)));
    }
    buf_c(&h->out, "}\n");
    return send_all(&h->out);
}

static bool greet(struct helper *h, const char *library) {
    struct err err = {0};
    int code = nvml_lib_open(&h->lib, library, &err);

    buf_f(&h->out, "{\"id\":0,\"code\":%d,\"simulated\":%s,\"error\":", code,
          h->lib.BerthSimHold ? "true" : "false");
    buf_json(&h->out, str_of(err.text));
    buf_c(&h->out, "}\n");
    return send_all(&h->out) && code == 0;
}

int nvml_helper_main(int argc, char **argv) {
    struct helper h = {.scan.lib = &h.lib};
    char line[REQUEST_MAX];

    /* Half way through a create when the node dies, it must not go on beside the next node's helper. A node that died
     * before this has closed the requests. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    buf_init(&h.out, ANSWER_MAX);
    if (greet(&h, argc > 1 ? argv[1] : NULL)) {
        listen_to_events(&h);
        while (fgets(line, sizeof(line), stdin)) {
            line[strcspn(line, "\n")] = 0;
            if (!answer(&h, line)) {
                break;
            }
        }
        nvml_scan_release(&h.scan);
        if (h.events) {
            NVML_DO(&h.lib, EventSetFree, h.events);
        }
        nvml_lib_close(&h.lib);
    }
    buf_release(&h.out);
    return 0;
}

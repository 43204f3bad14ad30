/*
 * gpus: the GPUs of this machine: which slices live, whom they belong to, and how they come and go.
 *
 * control decides where a slice lies (pod annotation berth.dev/devices); this carves exactly that,
 * or nothing. A set of devices for one pod is one transaction: on failure what this transaction
 * made is destroyed again, and nothing else is touched. The intent is written to the journal
 * (node/mig.json) before each create and each destroy, so that after a crash every instance is
 * known to be ours, wanted or left over. A create that is not answered in time stays in the journal: the instance that
 * may appear later is ours, and is removed.
 *
 * Instances that Berth did not make are shown as owned by "foreign" and never touched. The MIG mode
 * of a GPU is changed only where that is allowed (simulated, or manage_mig) and only while nothing
 * uses the GPU.
 */
#ifndef BERTH_NODE_GPUS_H
#define BERTH_NODE_GPUS_H

#include "api/inventory.h"
#include "base/log.h"
#include "node/gpu/nvml_client.h"

#define GPUS_FOREIGN "foreign"
enum { GPUS_FORGET_MS = 600000 };

struct gpus;

struct gpus_options {
    struct loop *loop;
    struct log *log;
    struct nvml_client *nvml;
    const char *dir;     /* of the journal */
    const char *library; /* of NVML, where one was named; NULL: the usual ones */
    const char *root;    /* where /proc, /sys and /dev are: NULL but in tests */
    bool manage_mig;
    /* How long an instance whose create was not answered may still appear; 0: GPUS_FORGET_MS. */
    int64_t forget_ms;
    /* The inventory changed (an instance, a card's health): publish it. Never called inside gpus_*
     * calls. */
    void (*changed)(void *ctx);
    /* A GPU got into trouble that ends what runs on it: the pod and why. */
    void (*trouble)(void *ctx, struct str pod_uid, const char *why);
    /* Something an operator should know of a card: "GPU 0 (GPU-..): Xid 79 ..." */
    void (*note)(void *ctx, bool warning, const char *reason, const char *text);
    void *ctx;
};

struct gpus *gpus_new(const struct gpus_options *o, struct err *err);
void gpus_free(struct gpus *g);

/* Reads the hardware and the journal; alive(uid) says which pods still have their processes: slices
 * of others that we made are removed. done comes once, also without GPUs. From then on what comes and goes is noticed
 * (a driver that is loaded, a GPU that is added or taken out) and told by o.changed: by files that show it, looked at
 * every two seconds, and while no driver answers by asking again, at first after ten seconds, at last every five
 * minutes. */
void gpus_start(struct gpus *g, bool (*alive)(void *ctx, struct str pod_uid),
                void (*done)(void *ctx, const struct err *err), void *ctx);

/* Brings a GPU back that an Xid took out of service; until then it stays out, over restarts and reboots. ERR_NOT_FOUND:
 * it is not out. */
int gpus_clear(struct gpus *g, struct str uuid, struct err *err);
/* "GPU 0 (GPU-...): Xid 48: ...; GPU 3 ..." of what is out of service, and their number. */
size_t gpus_troubles(const struct gpus *g, struct buf *out);

/* Makes the devices for a pod. done: code 0 and the UUIDs, in order of d->v (views, valid during
 * the call); or ERR_CONFLICT (the place is taken: the plan was stale), ERR_GONE (GPU in trouble),
 * ERR_UNSUPPORTED, ... Asking again for a pod that has its devices answers with those. */
typedef void gpus_done(void *ctx, int code, const struct str *uuids, size_t n,
                       const struct err *err);
void gpus_acquire(struct gpus *g, struct str pod_uid, const struct pod_devices *d, gpus_done *done,
                  void *ctx);
/* The pod's processes are gone: its slices are removed, in the background, for as long as that
 * takes. */
void gpus_release(struct gpus *g, struct str pod_uid);

/* Where the driver has a device: the number of its card's file, and of the GPU instance (-1: the whole card). false:
 * no device has this UUID. */
struct gpu_where {
    int32_t card, instance; /* card -1: the driver did not tell */
};
bool gpus_where(const struct gpus *g, struct str uuid, struct gpu_where *ret);

/* No hardware is behind them; known after gpus_start is done. */
bool gpus_simulated(const struct gpus *g);
/* A copy in the arena. 0 or ERR_NOMEM. */
int gpus_inventory(const struct gpus *g, struct arena *a, struct inventory *ret);
/* Node labels after GPU Feature Discovery, as members of a JSON object:
 * "nvidia.com/gpu.product":"NVIDIA-H200",... Labels that are to go are null: for a merge patch, not
 * for a create. */
void gpus_labels(const struct gpus *g, struct buf *out);
/* "nvidia.com/gpu":"8","nvidia.com/mig-1g.18gb":"56",... for capacity and allocatable. */
void gpus_capacity(const struct gpus *g, struct buf *out);

#endif

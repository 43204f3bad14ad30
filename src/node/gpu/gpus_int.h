/* gpus_int: declarations shared by the files of gpus: cards, slices, transactions. */
#ifndef BERTH_NODE_GPUS_INT_H
#define BERTH_NODE_GPUS_INT_H

#include "node/gpu/gpus.h"

enum { GPU_UUID_MAX = 96, POD_UID_MAX = 64 };

/* MAKING: journalled, create not answered. LIVE. UNMAKING: journalled, destroy not answered. */
enum slice_state { SLICE_NONE, SLICE_MAKING, SLICE_LIVE, SLICE_UNMAKING };

struct slice {
    enum slice_state state;
    bool ours;
    int32_t profile, start, size;
    int32_t utilization; /* of the instance; -1 unknown */
    int32_t instance;    /* the driver's number of it; -1 unknown */
    char uuid[GPU_UUID_MAX];
    char pod[POD_UID_MAX];
};

struct card {
    char uuid[GPU_UUID_MAX], model[64], board[16], trouble[128];
    char pod[POD_UID_MAX]; /* holder of the whole GPU */
    int32_t minor;         /* of its device file; -1 unknown */
    int32_t index, memory_mib, slices, compute_major, compute_minor;
    bool mig_capable, mig, lost,
        xid; /* lost: does not answer; xid: in trouble until the node starts again */
    int32_t utilization, temperature, power_mw, memory_used_mib;
    struct gpu_profile profiles[INVENTORY_PROFILES_MAX];
    char names[INVENTORY_PROFILES_MAX][32], resources[INVENTORY_PROFILES_MAX][64];
    struct profile_engines {
        int32_t sm, copy, decoder, encoder, jpeg, ofa;
    } engines[INVENTORY_PROFILES_MAX];
    size_t n_profiles;
    struct slice slice[INVENTORY_INSTANCES_MAX];
};

/* One pod's set of devices being made. */
struct acquire {
    struct acquire *next;
    struct gpus *g;
    char pod[POD_UID_MAX];
    struct pod_device *v; /* strings in the arena */
    size_t n, at;         /* devices v[0 .. at) are there */
    bool failed, mode_asked;
    struct err err;
    struct slice *making; /* the slice that v[at] becomes */
    struct card *card;
    struct arena arena;
    gpus_done *done;
    void *ctx;
};

struct gpus {
    struct gpus_options o;
    struct clock *clock;
    struct timer *poll, *retry, *tell;
    struct card card[INVENTORY_GPUS_MAX];
    size_t n;
    char driver[32];
    int32_t cuda_major, cuda_minor;
    bool simulated, polling, retry_needed;
    struct acquire *queue, **queue_last; /* one transaction at a time */
    bool busy;
    bool (*alive)(void *ctx, struct str pod_uid);
    void (*started)(void *ctx, const struct err *err);
    void *start_ctx;
};

struct card *gpus_card(struct gpus *g, struct str uuid);
struct slice *card_slice(struct card *c, int32_t profile, int32_t start); /* not SLICE_NONE */
bool card_in_use(const struct card *c);
bool card_healthy(const struct card *c);
void gpus_tell(struct gpus *g); /* o.changed, soon */

/* gpus_read.c: answers of the helper into cards. */
void gpus_read_scan(struct gpus *g, yyjson_val *answer);
void gpus_read_poll(struct gpus *g, yyjson_val *answer);

/* gpus_journal.c */
void gpus_journal_write(struct gpus *g);
void gpus_journal_read(struct gpus *g);

/* gpus_carve.c */
void gpus_unmake(struct gpus *g, struct card *c, struct slice *s);
void gpus_hold_again(struct gpus *g); /* after a restart: the simulated driver hears who has what */
void gpus_sweep(struct gpus *g);      /* asks for the end of every slice of ours without a pod */

#endif

/* gpus_private: declarations shared by the files of gpus: cards, slices, transactions. */
#ifndef BERTH_NODE_GPUS_PRIVATE_H
#define BERTH_NODE_GPUS_PRIVATE_H

#include "base/vec.h"
#include "node/gpu/gpus.h"

enum { GPU_UUID_MAX = 96, POD_UID_MAX = 64, GPUS_OUT_MAX = 256 };

/*
 * MAKING: journalled, create not answered. LIVE. UNMAKING: journalled, destroy not answered. ASTRAY: journalled; its
 * create got no answer in time, or its node died meanwhile: whether it exists, or will, is not known. It has no pod
 * and holds no place. As soon as the driver shows it, it is LIVE without a pod, which is to say removed; where the
 * driver has not shown it for a while and no helper sits in the driver any more, it is forgotten.
 */
enum slice_state { SLICE_NONE, SLICE_MAKING, SLICE_LIVE, SLICE_UNMAKING, SLICE_ASTRAY };

struct slice {
    enum slice_state state;
    bool ours;
    int32_t profile, start, size;
    int32_t utilization; /* of the instance; -1 unknown */
    int32_t instance;    /* the driver's number of it; -1 unknown */
    int64_t astray_mono; /* ASTRAY: since when */
    char uuid[GPU_UUID_MAX];
    char pod[POD_UID_MAX];
};

struct card {
    char uuid[GPU_UUID_MAX], model[64], board[16], trouble[128];
    char pod[POD_UID_MAX]; /* holder of the whole GPU */
    int32_t minor;         /* of its device file; -1 unknown */
    int32_t index, memory_mib, slices, compute_major, compute_minor;
    bool mig_capable, mig;
    bool lost, xid;  /* lost: does not answer; xid: out of service until it is cleared */
    bool seen, gone; /* seen: in the last answer; gone: taken out of the machine */
    int32_t utilization, temperature, power_mw, memory_used_mib;
    struct gpu_profile profiles[INVENTORY_PROFILES_MAX];
    char names[INVENTORY_PROFILES_MAX][32], resources[INVENTORY_PROFILES_MAX][64];
    struct profile_engines {
        int32_t sm, copy, decoder, encoder, jpeg, ofa;
    } engines[INVENTORY_PROFILES_MAX];
    size_t n_profiles;
    struct slice slice[INVENTORY_INSTANCES_MAX];
};

/* What the journal says of a GPU that has not shown itself: lost at the start, or its driver not loaded yet. */
struct awaited {
    char gpu[GPU_UUID_MAX];
    bool whole; /* slice.pod has the whole GPU */
    struct slice slice;
};
VEC(awaited_vec, struct awaited);

/* A GPU that is out of service until somebody clears it, whether it is here or not. */
struct gpu_out {
    char uuid[GPU_UUID_MAX], why[128];
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

/* One slice being removed. */
struct unmaking {
    struct unmaking *next;
    struct gpus *g;
    char uuid[GPU_UUID_MAX];
    int32_t profile, start;
};

struct gpus {
    struct gpus_options o;
    struct clock *clock;
    struct timer *poll, *retry, *tell;
    struct card card[INVENTORY_GPUS_MAX];
    size_t n;
    char driver[32];
    int32_t cuda_major, cuda_minor;
    bool simulated;
    bool scanned,
        rescan; /* scanned: the driver has answered once; rescan: other GPUs are there than we know */
    uint64_t signs; /* of the hardware and its driver, as they were at the last look */
    int64_t probe_ms,
        probe_mono; /* while no driver answers: the pause, and when it is asked again */
    struct awaited_vec awaited;
    struct gpu_out out[GPUS_OUT_MAX];
    size_t n_out;
    struct acquire *queue, **queue_last; /* one transaction at a time */
    bool busy;
    struct unmaking *unmaking; /* asked for, not answered */
    bool (*alive)(void *ctx, struct str pod_uid);
    void (*started)(void *ctx, const struct err *err);
    void *start_ctx;
};

struct card *gpus_card(struct gpus *g, struct str uuid);
/* What is at this place, LIVE or MAKING before UNMAKING before ASTRAY; NULL: nothing. */
struct slice *card_slice(struct card *c, int32_t profile, int32_t start);
struct slice *card_free_slot(struct card *c); /* NULL: the table is full */
bool card_in_use(const struct card *c);
bool card_healthy(const struct card *c);
void gpus_tell(struct gpus *g); /* o.changed, soon */

/* gpus_read.c: answers of the helper into cards. */
void gpus_read_scan(struct gpus *g, yyjson_val *answer);
void gpus_read_poll(struct gpus *g, yyjson_val *answer);
/* What runs on GPUs that are out of service ends: a node that died may have written that down and told nobody. */
void gpus_read_out(struct gpus *g);
void gpus_read_absence(struct gpus *g, const char *why); /* no driver is there: no card answers */

/* gpus_signs.c: a number that is another when a driver was loaded or unloaded, or a GPU came or went: a few looks at
 * files, without asking the driver. */
uint64_t gpus_signs(const char *root, const char *library);

/* gpus_journal.c */
void gpus_journal_write(struct gpus *g);
/* At the start. A journal that is damaged is put aside and told of. */
void gpus_journal_read(struct gpus *g);
/* What the journal says of the GPUs that are here now, once for each. */
void gpus_journal_place(struct gpus *g);

/* gpus_out.c */
int gpus_out_read(struct gpus *g,
                  struct err *err); /* a damaged list is an error: nobody knows who is out */
void gpus_out_add(struct gpus *g, struct card *c, const char *what);
void gpus_out_mark(struct gpus *g,
                   struct card *c); /* sets xid, and the trouble of a card that answers */

/* gpus_carve.c */
void gpus_unmake(struct gpus *g, struct card *c, struct slice *s);
void gpus_hold_again(struct gpus *g); /* after a restart: the simulated driver hears who has what */
void gpus_sweep(struct gpus *g);      /* asks for the end of every slice of ours without a pod */

#endif

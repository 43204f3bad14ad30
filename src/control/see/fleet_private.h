/* fleet_private: what the files of fleet share. */
#ifndef BERTH_CONTROL_FLEET_PRIVATE_H
#define BERTH_CONTROL_FLEET_PRIVATE_H

#include "api/tables/view_fleet.h"
#include "control/queue/queue_private.h"

#include "api/inventory.h"
#include "control/load/gpu_inventory.h"
#include "control/see/fleet.h"

enum {
    FLEET_AMOUNTS_MAX = 32,  /* GPU resources of a node that has no inventory */
    FLEET_TYPES_MAX = 64,    /* kinds of GPUs; more are left out */
    FLEET_COUNTS_MAX = 64,   /* resources of a type */
    FLEET_SAMPLES = 24 * 60, /* of a type: a day by minutes */
    FLEET_ATTENTION_MAX = 100,
};

/* ---- records ---- */

struct fleet_amount {
    struct str resource;
    int64_t capacity, allocatable;
};

/* A Node, decoded when somebody asks after it changed. */
struct fleet_node {
    struct arena arena;                /* all below but the name */
    bool dirty, ready, cordoned, told; /* told: it has an inventory */
    struct inventory inv;
    struct str product,
        flavor; /* label nvidia.com/gpu.product; flavor: of the question under way */
    struct str_map labels;
    struct fleet_amount *amounts;
    size_t n_amounts;
    int64_t memory_mib; /* of a GPU, by label; 0: not known */
    struct str name;    /* last: in the record's own memory */
    char text[];
};

enum fleet_phase { FLEET_HOLDS, FLEET_DEGRADED, FLEET_ASKS, FLEET_OTHER };

struct fleet_place {
    struct str resource, flavor, gpu, profile;
    int32_t start, size;
    int64_t count;
    struct fleet_place *next; /* on the same GPU, while sums are made */
};

/* A Reservation that holds something now, or that somebody must decide on. */
struct fleet_booking {
    struct arena arena;
    struct str uid, ns, name, message, by, queue; /* queue: its ClusterQueue */
    enum fleet_phase phase;
    struct fleet_place *places;
    size_t n_places;
};

/* ---- sums ---- */

struct fleet_type {
    struct str flavor, product;
    struct fleet_count *v;
    size_t n;
    double total, used, reserved; /* GPUs, a slice as its share */
    double busy;                  /* sum of utilisation, in percent ... */
    double busy_of;               /* ... of so many GPUs */
};

struct fleet_sums {
    struct arena *arena;
    struct fleet_type *v; /* by name of the flavor */
    size_t n;
    struct map by_gpu; /* uuid -> struct fleet_place, a list */
};

struct fleet_sample {
    int64_t at_ns;
    float total, used, reserved, busy; /* busy -1: not known */
};

struct fleet_series {
    struct fleet_sample *v; /* a ring of FLEET_SAMPLES */
    size_t n, next;
    int64_t seen_ns;
    struct str flavor, product; /* in text */
    char text[];
};

/* A Workload that waits for long. */
struct fleet_stuck {
    char *ns, *name, *text;
    bool evicted;
};

enum { FLEET_NODES, FLEET_RESERVATIONS, FLEET_FEEDS };

struct fleet {
    struct queue_controller *c;
    const struct kind *flavors, *kinds[FLEET_FEEDS]; /* of reservations NULL where there are none */
    struct feed *feeds[FLEET_FEEDS];
    struct map nodes, bookings; /* name -> fleet_node, uid -> fleet_booking */
    struct virtual_source current, history;
    struct timer *minute;
    struct map series; /* flavor -> fleet_series */
    struct fleet_stuck stuck[FLEET_ATTENTION_MAX / 2];
    size_t n_stuck;
    int64_t stuck_ns; /* when it was looked at (monotonic); 0: never */
    struct arena scratch;
};

/* Whether an asker may see what is in a namespace, each asked once. */
struct fleet_viewer {
    const struct virtual_ask *q;
    const char *group, *resource;
    bool all;
    struct arena *arena;
    struct map known; /* namespace -> "y" or "n" */
};
void fleet_viewer_init(struct fleet_viewer *v, const struct virtual_ask *q, const char *group,
                       const char *resource, struct arena *a);
void fleet_viewer_release(struct fleet_viewer *v);
bool fleet_may(struct fleet_viewer *v, struct str ns);

/* fleet_records.c */
int fleet_records_init(struct fleet *f); /* ERR_NOMEM */
void fleet_records_release(struct fleet *f);
/* Decodes the nodes that changed and says which flavor each has; flavors in `a`. ERR_NOMEM. */
int fleet_nodes_refresh(struct fleet *f, struct arena *a);

/* fleet_sum.c; refreshes the nodes. Release the map. ERR_NOMEM. */
int fleet_sum(struct fleet *f, struct arena *a, struct fleet_sums *ret);
void fleet_sums_release(struct fleet_sums *s);
/* On a card: does a booking keep this place, or (size 0) the whole card? */
const struct fleet_place *fleet_places_of(const struct fleet_sums *s, struct str gpu);
bool fleet_node_serves(const struct fleet_node *n);

/* fleet_history.c */
int fleet_history_init(struct fleet *f); /* ERR_NOMEM */
void fleet_history_release(struct fleet *f);
void fleet_history_sample(struct fleet *f); /* now */
int fleet_history_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                      void *ctx, struct virtual_call **ret, struct err *err);

/* fleet_attention.c; failures are the arena's */
void fleet_attention(struct fleet *f, const struct virtual_ask *q, struct arena *a,
                     struct fleet_view *to);
void fleet_attention_release(struct fleet *f);

#endif

/* booking_objects_private: what the files of the booking objects controller share. */
#ifndef BERTH_CONTROL_BOOKING_OBJECTS_PRIVATE_H
#define BERTH_CONTROL_BOOKING_OBJECTS_PRIVATE_H

#include "control/load/translate.h"

#include "api/tables/view_reservation.h"
#include "base/limits.h"
#include "control/berths/booking_objects.h"
#include "control/book/booking_confirmed.h"
#include "control/book/booking_hardware.h"
#include "control/book/booking_views.h"
#include "control/kit/controller.h"
#include "core/booking/booking_ledger.h"

#define BOOKING_MANAGED_LABEL "berth.dev/managed-by"
#define BOOKING_MANAGED "berth"
#define BOOKING_DEFAULT_LABEL "berth.dev/default" /* on what a fresh data folder gets */
/* On the ClusterQueue. */
#define BOOKING_LOCAL "berth.dev/local-queue"
#define BOOKING_POLICY "berth.dev/end-policy"
#define BOOKING_CLOSING "berth.dev/closing-since" /* "": it is not */
#define BOOKING_LEAD                                                                               \
    "berth.dev/stop-lead" /* how long before a hard end it was stopped; "": it was not */
/* On the Cohort and on ClusterQueues: who saw it last before he raised any quota (booking_fence.c). */
#define BOOKING_TERM "berth.dev/term"
#define BOOKING_QUEUE_LABEL "kueue.x-k8s.io/queue-name"

/* Bytes that a booking with a line and a place takes, kept and in a look: 9.5 KiB were measured, in three cells. */
enum { BOOKING_LOOK_EACH = 16 << 10 };
enum { BOOKING_TOUCHED = 4096 };
enum { BOOKING_TAG_QUOTA = 1 }; /* of a round: a patch of quota, or a mark of the term */

enum booking_kind {
    BK_RESERVATION,
    BK_POLICY,
    BK_CLUSTER_QUEUE,
    BK_COHORT,
    BK_LOCAL_QUEUE,
    BK_PROFILE,
    BK_FLAVOR,
    BK_NODE,
    BK_WORKLOAD,
    BK_NAMESPACE,
    BK_COUNT,
};

enum booking_stage {
    STAGE_HELD,
    STAGE_OPEN,
    STAGE_SHUT,
    STAGE_DRAINED,
    STAGE_DEMOTED,
    STAGE_GONE,
};

/* What the nodes of a flavor have together, and what a unit of a device is of one GPU (booking_hardware.h). */
struct booking_sum {
    bool known;
    int64_t cards, share, cpu, memory;
};
/* One resource in one flavor. */
struct booking_cell {
    struct str flavor, resource;
    bool device;            /* a GPU or slice */
    struct booking_sum sum; /* of that, when somebody asked */
};
struct booking_group { /* of the pool's Cohort */
    struct str *resources, *flavors;
    size_t n_resources, n_flavors;
};

/* A Workload of a booking that is not finished. In the controller's arena. */
struct booking_work {
    struct booking_work *next;
    const struct object *obj;
    bool holds;       /* quota */
    int64_t grace_ns; /* of the pod that takes longest to end */
};

/* A Reservation that has, or is to have, objects; or only the objects of one that is gone. */
struct berth_booking {
    const struct object *obj; /* the Reservation; NULL: gone */
    struct reservation *rsv;
    const struct object *queue_obj; /* its ClusterQueue; NULL: none */
    struct cluster_queue *queue;
    struct str ns, name, uid;
    struct str queue_name, local_name; /* of its objects */
    struct str end_policy;
    struct str *resources; /* that it books, each once, in order of lines */
    int64_t *counts;
    size_t n_resources;
    int64_t start, end, created;
    int64_t closing; /* since when it is being taken down; 0: it is not */
    enum booking_stage stage;
    bool followed;     /* another goes on with its objects: its end is none for its work */
    bool handed_over;  /* another has them already */
    bool follows;      /* takes over from one that is still there: nothing of its own is made */
    bool foreign_open; /* the project is going or gone: nothing is made in it */
    /* of its Workloads, where somebody looked */
    bool looked;
    bool works_read; /* so of all of the project */
    struct booking_work *works;
    size_t holding, waiting;
    int64_t grace_ns; /* a hard end stops so long before: the longest of a pod that runs */
    int64_t lead_ns;  /* it was stopped so long before; 0: it was not */
    bool whole;       /* it has all that it booked, as far as is seen */
    bool behind;      /* something of it was written, or could not be */
    bool missing_queue;
    bool fenced; /* its ClusterQueue says what it says: nobody else's write can land there */
    size_t row;  /* in the ledger */
};

/* All that is decided from, of one look. In the controller's arena. */
struct booking_picture {
    struct reservation_policy_spec *policy;
    struct str cohort_name;
    const struct object *cohort_obj; /* NULL: there is none */
    struct cohort *cohort;
    bool touch;         /* the Cohort is ours to write */
    bool cohort_fenced; /* as a booking is */
    struct str term;    /* who writes; empty: nobody else can */
    struct berth_booking *v;
    size_t n;
    struct booking_group *groups; /* the layout of the pool */
    size_t n_groups;
    /* Of the groups, flavor by flavor; then others that bookings are seen to have */
    struct booking_cell *cells;
    size_t n_cells, n_pool_cells;
    struct booking_ledger ledger;
    uint64_t layout; /* a hash of what all bookings have in common */
    bool more;       /* there was no time for all of them */
    int64_t now;
    int64_t next; /* when to look again by the clock */
    struct round *round;
};

/* Bookings of a picture by a hash of something of theirs, in order: the next that may be meant. */
struct booking_chains {
    uint32_t *head, *next; /* a place + 1; 0: none */
    size_t mask;
};

struct booking_objects_controller {
    struct controller base;
    struct booking_hardware hardware;
    struct { /* what the hardware came to, of the layout and flavors that `key` is a hash of */
        uint64_t key;
        int64_t *v;
        size_t n;
    } sums;
    struct map live; /* uid -> struct live_booking: Reservations that may have objects */
    struct booking_confirmed confirmed;
    bool lost;     /* a node, or a confirmed Reservation, could not be read: all again */
    bool watching; /* some booking's Workloads matter: it ends, or soon will */
    bool paused, told;
    size_t n_seen;     /* bookings, in the last look */
    int64_t tell_at;   /* not before, that there are too many */
    unsigned given_up; /* patches of quota of which nobody knows whether they will yet happen */
    unsigned failures; /* looks in a row in which a write failed */
    bool failed;
    struct arena scratch; /* of one object: in a feed, being put */
    struct booking_views views;
    size_t limit;    /* bytes of one look, views included */
    size_t act_from; /* the booking that the last look had no time for */
    size_t swept;    /* bookings that had their turn since the last news */
    bool news;       /* something changed, or a write failed */
    bool goes_on;    /* the next look does what the last had no time for */
    uint64_t acted;  /* bookings whose objects were compared, since the beginning */
    uint64_t most;   /* of that, and of objects decoded, in one look */
    uint64_t made;   /* LocalQueues and profiles that came */
    uint64_t owners; /* a hash of who had any when none was found without an owner, and `made` */
    /* LocalQueues and profiles, by project and booking: changes */
    uint32_t touched[BOOKING_TOUCHED];
};

static inline bool booking_is_ours(const struct object *o) {
    return str_is(object_label(o, STR(BOOKING_MANAGED_LABEL)), BOOKING_MANAGED) &&
           object_label(o, STR(RESERVATION_LABEL)).n > 0;
}

/* booking_objects_pool.c */
/* The layout, the cells, and the ledger with everything but what bookings ask for. ERR_NOMEM. */
int booking_pool_read(struct booking_objects_controller *c, struct booking_picture *p);
/* What each booking asks for; then the ledger is settled. ERR_NOMEM. */
int booking_pool_settle(struct booking_objects_controller *c, struct booking_picture *p);
/* Of the flavor and device of a cell of the pool. */
const struct booking_sum *booking_sum(struct booking_objects_controller *c,
                                      struct booking_picture *p, size_t cell);
/* The part of `all` that goes with so many units. */
int64_t booking_part(int64_t all, int64_t units, const struct booking_sum *s);
size_t booking_cell_at(const struct booking_picture *p, struct str flavor, struct str resource);

/* booking_fence.c */
/* What is fenced; the ledger holds while anything is not. Before it is settled. */
void booking_fence_read(struct booking_objects_controller *c, struct booking_picture *p);
/* Marks what is not; true: something was. It gets no other write in this round. */
bool booking_fence_put(struct booking_objects_controller *c, struct booking_picture *p);

/* booking_objects_act.c */
/* A LocalQueue or profile has changed. */
void booking_touch_named(struct booking_objects_controller *c, const struct object *o);
/* The writes for each booking, as far as there is time: p->more. */
void booking_act(struct booking_objects_controller *c, struct booking_picture *p);
void booking_remove_strays(struct booking_objects_controller *c, struct booking_picture *p);

/* booking_objects_put.c: what is to be there, and what of that has to be written */
void booking_put_objects(struct booking_objects_controller *c, struct booking_picture *p,
                         struct berth_booking *b);
void booking_put_cohort(struct booking_objects_controller *c, struct booking_picture *p);
/* True: it was written, or could not be. */
bool booking_put_status(struct booking_objects_controller *c, struct booking_picture *p,
                        struct berth_booking *b);
void booking_remove(struct booking_objects_controller *c, struct booking_picture *p,
                    struct berth_booking *b);
struct str booking_profile_name(struct arena *a, struct str local, struct str resource);

/* booking_objects_end.c: what runs and waits in a booking that is about to end */
void booking_workloads_look(struct booking_objects_controller *c, struct booking_picture *p,
                            struct berth_booking *b);
void booking_workloads_act(struct booking_objects_controller *c, struct booking_picture *p,
                           struct berth_booking *b);
int64_t booking_first_warning(const struct booking_picture *p);
int64_t booking_last_warning(const struct booking_picture *p);

/* booking_objects_stage.c */
/* Objects go from the one before to who has none yet, or will. ERR_NOMEM. */
int booking_take_over(struct booking_objects_controller *c, struct booking_picture *p);
/* Another one will go on with the objects of one that ends soon: `followed`. */
void booking_find_follower(struct booking_objects_controller *c, struct booking_picture *p,
                           struct berth_booking *x);
void booking_decide(struct booking_objects_controller *c, struct booking_picture *p,
                    struct berth_booking *b);

/* booking_objects.c */
/* False: it cannot be read. */
bool booking_read(struct booking_objects_controller *c, struct berth_booking *b,
                  const struct object *o);
/* for (b = booking_chain(x, p, hash); b != NULL; b = booking_chain_next(x, p, b)): in order of the picture, when they
 * are added from its end. */
int booking_chains_init(struct booking_chains *x, struct arena *a, size_t n); /* ERR_NOMEM */
void booking_chains_add(struct booking_chains *x, uint64_t hash, size_t at);
struct berth_booking *booking_chain(const struct booking_chains *x, const struct booking_picture *p,
                                    uint64_t hash);
struct berth_booking *booking_chain_next(const struct booking_chains *x,
                                         const struct booking_picture *p,
                                         const struct berth_booking *b);
void booking_wake(struct booking_picture *p, int64_t at_ns);

#endif

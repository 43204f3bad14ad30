/* pods_private: declarations shared by the files of pods. */
#ifndef BERTH_NODE_PODS_PRIVATE_H
#define BERTH_NODE_PODS_PRIVATE_H

#include "base/map.h"
#include "node/files/disk_walk.h"
#include "node/files/files.h"
#include "node/images/image_store.h"
#include "node/pods/pods.h"
#include "node/pods/pods_quota.h"
#include "node/spec/pod_spec.h"

enum pod_state {
    POD_NEW,       /* known from the API; nothing done */
    POD_DEVICES,   /* its slices are being made */
    POD_PREPARING, /* folders and spec.json; perhaps a ConfigMap is awaited */
    POD_STARTING,  /* the shim was asked for */
    POD_RUNNING,
    POD_STOPPING, /* asked to end; the grace period runs */
    POD_OVER,     /* no processes, and never again */
    POD_STATES,
};

enum pod_event {
    POD_EV_BEGIN,   /* may go on: first time, or again after a pause */
    POD_EV_DEVICES, /* slices are there */
    POD_EV_READY,   /* spec.json is written */
    POD_EV_UP,      /* the shim told its first state */
    POD_EV_DOWN,    /* the shim told its last state, or is gone */
    POD_EV_STOP,    /* deleted, or in trouble */
    POD_EV_FAIL,    /* cannot run here */
};

struct pod_source_doc {
    enum pod_source kind;
    struct str name;
    bool asked, failed; /* failed: whether it exists could not be found out */
    yyjson_val *object; /* NULL: does not exist, or not here yet */
};

enum { POD_TOLD = 16, POD_ARENA = 32 << 20 };

/* An Event that was made of what the shim said. */
struct pod_told {
    uint64_t key;
    int64_t count, mono; /* as written, and when; 0: unused */
    char suffix[24];     /* of its name */
};

enum pod_turn { POD_TURN_NONE, POD_TURN_WAITS, POD_TURN_HAS };

struct pod {
    struct pods *pods;
    struct pod *next_waiting;
    enum pod_turn turn; /* to be made ready and started: pods_turn.c */
    char uid[64], *ns, *name;
    uid_t user; /* that its processes are; 0: none of its own */
    char *dir;
    const struct object *obj; /* NULL: the API has not told (or no longer knows) */
    enum pod_state state;
    bool gone;        /* the API no longer has it */
    bool fresh_fetch; /* sources are read anew at the next try */
    int tries, fetching;
    int64_t start_ns, retry_mono, asked_mono;
    int64_t deadline_s;       /* activeDeadlineSeconds; 0: none */
    size_t later, told_later; /* ephemeral containers: that it has, that its shim was told of */
    uint64_t notes;           /* of its labels and annotations, to see that they change */
    bool gated;               /* it has readiness gates: others' conditions count for its own */
    bool recovering;          /* its state is read for the first time by this node */
    int64_t stop_grace_s;
    bool stop_sent;
    int wd;           /* of inotify, -1 */
    char *shim_state; /* text of state.json, NUL-terminated, or NULL */
    int64_t shim_pid;
    uint64_t shim_start;
    bool failed, lost;
    bool unmet_told; /* that a limit does not hold */
    char reason[64], message[600];
    struct arena arena; /* of sources and devices, while it starts */
    struct pod_source_doc *sources;
    size_t n_sources;
    struct str *uuids;
    struct pod_devices devices;
    struct pod_usage *usage; /* pods_usage.c; NULL: not looked at yet */
    struct pod_live *live;   /* pods_live.c; NULL: nothing of its volumes changes */
    /* its network: pods_net.c */
    char ip[16], netns[48];
    bool attaching, attached;
    bool ended; /* its shim saw all of its processes end */
    /* its images: pods_images.c */
    bool images_known, in_images;  /* whether it runs in them is decided, and that it does */
    bool asking;                   /* for one of them */
    bool has_commands;             /* each container has */
    struct pod_image_wish *images; /* of each container, in `arena`; NULL: not read */
    size_t n_images;
    /* Hashes of why it waits, as they were told: of back-offs, of failures */
    uint64_t image_told[2];
    /* events of the shim: up to which one they are told; how many new ones may be */
    int64_t told_seq, tell_mono;
    int tells;
    struct pod_told *told; /* POD_TOLD of them, once there is one */
    /* status */
    bool writing, dirty, reported, removing;
    uint64_t written_hash;
    /* while there is little room on the disk */
    struct disk_walk walk;
    uint64_t walked; /* what the last whole walk counted */
    bool evicted, emptied;
    /* What it may write; NULL: anything, or not looked at yet (quota_known) */
    struct pod_quota *quota;
    bool quota_known;
    bool waiting_answer; /* of gpus or fetch: freeing must wait */
    bool doomed;         /* free as soon as no answer is awaited */
};

struct pods {
    struct pods_options o;
    struct clock *clock;
    struct map by_uid, by_wd;
    int inotify;
    struct loop_fd *watch;
    struct timer *tick;
    struct loop_child *server;
    struct loop_child *retired; /* of another user namespace: ends with its last shim */
    int retired_pid;
    char userns[48]; /* that the server joins; "": it makes its own */
    int server_fd;
    bool verb_shims;                    /* by `berth shim`, though berth-shim is there */
    struct pod *waiting, *last_waiting; /* for their turn */
    size_t n_turns, turns;              /* given; of all */
    struct timer *turner;
    bool synced;
    struct pods_usage *usage;
    size_t n_live;       /* pods that are followed, at the last tick */
    int64_t disk_mono;   /* when the disk is looked at next */
    unsigned disk_ticks; /* of the round of measuring pods; 0: none */
    const struct kind *pod_kind, *event_kind;
    uint64_t events;
};

/* pods_start.c: what happens before there are processes. */
void pod_acquire(struct pod *p);
/* What a Pod's files are made by, done with; the code is the function's. */
int pod_with_spec(struct pod *p, struct arena *a, struct err *err,
                  int (*run)(const struct pod_spec_in *in, void *ctx, struct err *err), void *ctx);
/* Asks for the sources that were noted; true when something was asked for. */
bool pod_fetch_new(struct pod *p);
void pod_prepare(struct pod *p);
void pod_launch(struct pod *p);
int pods_server_start(struct pods *p, struct err *err);

/* pods_live.c: volumes that follow what they are made of. */
void pod_live_free(struct pod_live *l);
struct pod_volumes_seen *pod_live_seen(struct pod *p, size_t volumes);
yyjson_val *pod_live_token(struct pod *p, struct str name); /* NULL: must be asked for */
void pod_live_keep(struct pod *p, struct str name, struct str answer, yyjson_val *object);
void pod_live_begin(struct pod *p); /* it starts, with all that its sources say now */
void pod_live_now(struct pod *p);   /* look soon: it was changed, or is found again */
void pod_live_step(struct pod *p);  /* also when what was asked for has come */
void pods_live_tick(struct pods *ps, int64_t now);

/* pods_usage.c */
void pods_usage_tick(struct pods *ps, int64_t now);
void pods_usage_free(struct pods_usage *u);
yyjson_val *pod_lookup(struct pod *p, enum pod_source kind,
                       struct str name); /* NULL: noted, or not there */
bool pod_fetch_new(struct pod *p);       /* asks for what was noted; true: something was */

/* pods_images.c: true: all images are here, or the pod runs without; else it goes on when they are. */
bool pod_images(struct pod *p);
struct pod_images_found {
    struct image *containers; /* of each, init containers first; NULL: the pod runs without */
    const struct pod_volume_image *volumes;
    size_t n_volumes;
};
int pod_images_read(struct pod *p, struct arena *a, struct pod_images_found *ret, struct err *err);

/* pods_turn.c: true: it is the pod's turn to be prepared and started; else it begins again when it is. The turn is over
 * when it has started, has to wait for something else, or is over. */
bool pod_turn(struct pod *p);
void pod_turn_end(struct pod *p);
size_t pods_turns_of_machine(void);
/* Those whose turn has come go on: by a timer, not from within another's step. */
void pods_next_turns(void *pods);

/* pods_net.c: true: the pod has its network, or needs none of its own; else it goes on when it has. */
bool pod_attach(struct pod *p);
void pod_detach(struct pod *p);
struct str pod_ip(const struct pod *p);

/* pods_watch.c: the shim's side. */
void pod_watch(struct pod *p);
void pod_unwatch(struct pod *p);
void pod_read_state(struct pod *p); /* may raise POD_EV_UP, POD_EV_DOWN */
bool pod_shim_alive(const struct pod *p);
void pod_send_stop(struct pod *p);
void pod_send_more(struct pod *p); /* more.json is another */
void pods_on_inotify(void *ctx, int events);
void pod_end_strays(struct pod *p);

/* pods_report.c: the API's side. */
void pod_report(struct pod *p);
/* The API has the last status: what was kept to tell it goes. Hundreds of thousands of pods may be over. */
void pod_shed(struct pod *p);
/* pods_tell.c: Events. */
void pod_tell_state(struct pod *p, yyjson_val *state);  /* what state.json has that is new */
void pod_tell_forget(struct pod *p, yyjson_val *state); /* all of it was told before */
void pod_tell(struct pod *p, bool warning, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* pods_disk.c: a bounded step of measuring pods that have limits on what they write. */
void pods_hold_quotas(struct pods *p);
void pods_watch_disk(struct pods *p, int64_t now);
struct disk_room {
    uint64_t all, free; /* bytes; 0 and 0: not told */
};
/* A bounded step towards room, where there is little; true: the next one shall come soon. */
bool pods_disk_tick(struct pods *p, const struct disk_room *r);

/* pods.c */
void pods_end(struct pods *p, struct str uid, const char *reason, const char *why);
void pod_event(struct pod *p, enum pod_event e);
void pod_fail(struct pod *p, const char *reason, const char *message);
void pod_retry(struct pod *p, const char *reason, const char *message);
void pod_wait(struct pod *p, const char *reason,
              const char *message); /* the same, without an event */
void pod_answered(
    struct pod *p); /* an awaited answer came; true life goes on, or the pod is freed */

#endif

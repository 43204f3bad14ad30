/*
 * leader: one of several equal processes acts, by a Lease (coordination.k8s.io/v1) as client-go's leader election
 * uses it, so that people and tools see what they know.
 *
 *     CANDIDATE --(the Lease was taken)--> LEADER --(renew_ns without a renewal)--> CANDIDATE
 *                                            `--(leader_release)--> RELEASED
 *
 * Every retry_ns (and up to 1.2 times that again) the Lease is read or renewed. Clocks of other machines are never
 * compared: a holder counts as gone when its record has not changed for lease_ns of its own by our observation. A
 * released Lease (empty holder) is taken at once: candidates watch it.
 *
 * Fencing. The earliest moment at which another may hold the Lease is lease_ns after our last renewal was *sent*. The
 * fence (leader_may_write) shuts a margin before it, lease_ns - renew_ns, which is for what is on its way through the
 * network; whoever writes asks it right before bytes go out. Time is CLOCK_BOOTTIME, which goes on
 * while the machine sleeps; a wall clock that ran ahead of it counts as well, since that is all that a guest sees of
 * having been suspended by its host. After that the fence stays shut until the Lease is renewed or taken anew. What no
 * client can shut out: a process that is stopped between the question and the system call right after it.
 *
 * Losing leadership is told by `stopped` and ends work at once; the process stays, with what it has in memory, and is a
 * candidate again. Loop thread only.
 */
#ifndef BERTH_KUBE_LEADER_H
#define BERTH_KUBE_LEADER_H

#include "base/log.h"
#include "kube/client.h"

struct leader;

struct leader_options {
    struct kube_client *client;
    struct log *log;
    struct str ns, name; /* of the Lease; copied */
    struct str identity; /* unlike all others': leader_identity; copied */
    const char *who;     /* static: component of its Events, field manager: "berth-operate" */
    int64_t lease_ns, renew_ns, retry_ns; /* 0: client-go's 15 s, 10 s, 2 s */
    /* Neither is called inside a function of this header. */
    void (*started)(void *ctx);
    void (*stopped)(void *ctx, const char *why);
    void *ctx;
    int64_t (*boot_ns)(void *ctx); /* for tests; NULL: CLOCK_BOOTTIME */
    int64_t (*wall_ns)(void *ctx); /* for tests; NULL: CLOCK_REALTIME */
    void *time_ctx;
};

/* lease > renew > 1.2 * retry, and all at least a second in whole seconds (lease): ERR_INVALID names what is wrong. */
int leader_check(int64_t lease_ns, int64_t renew_ns, int64_t retry_ns, struct err *err);
/* "host_uuid", by the host's name and random bits. */
int leader_identity(struct buf *out, struct err *err);

/* Starts being a candidate. */
struct leader *leader_new(const struct leader_options *o, struct err *err);
/* Forgets the Lease as it is: others wait it out. `stopped` is not called. */
void leader_free(struct leader *l);
/* Hands the Lease over: to be called when nothing of us writes any more. `done` comes later, exactly once, whatever
 * came of it; not after leader_free. A candidate has nothing to hand over, and done comes all the same. */
void leader_release(struct leader *l, void (*done)(void *ctx), void *ctx);

bool leader_is(const struct leader *l);
/* The fence: may we still write? Cheap: two clocks are read. ctx is the leader: for kube_writer_options.fence. */
bool leader_may_write(void *ctx);
/* For health: 0, or what is wrong: a leader that could not renew for longer than it should have. */
int leader_well(const struct leader *l, struct err *err);

#endif

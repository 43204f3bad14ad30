/*
 * fake_world: a world for tests of controllers: a mirror without journal, a clock that stands still, and a writer that
 * applies each write to the mirror a moment later, by the rules of the API server as far as controllers can see them
 * (defaults, generateName, uid, generation, status and finalize subresources, finalizers, propagation, preconditions,
 * graceful deletion of pods).
 *
 * Faults: the `fail_at`th write from now is refused (nothing happens), lost (it happens, the answer says it did not),
 * or meets a conflict. Nothing here is a controller: pods move only in fake_world_kubelet.
 */
#ifndef BERTH_CONTROL_FAKE_WORLD_H
#define BERTH_CONTROL_FAKE_WORLD_H

#include "base/arena.h"
#include "base/virtual_clock.h"
#include "control/kit/env.h"
#include "mirror/memory/memory_writer.h"

enum fake_fault { FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT };

struct fake_world {
    struct virtual_clock clock;
    struct mirror *mirror;
    struct memory_store store;
    struct memory_writer writer; /* latency: 1 ms */
    struct log log;
    struct control_env env; /* what controllers get */
    uint64_t writes;        /* applied or failed so far */
    uint64_t fail_at;       /* 1: the next write; 0: none */
    enum fake_fault fault;
    bool log_writes; /* print each write, for debugging a test */
    /* The exit of a pod's containers, asked when it runs: -1 keeps it running. NULL: 0. */
    int (*outcome)(void *ctx, const struct object *pod);
    void *outcome_ctx;
    struct feed *evictions; /* of fake_world_runner */
    struct timer *lets_go;
    struct feed *first; /* hears of each change before anybody else */
    uint64_t sabotage;
};

void fake_world_init(struct fake_world *w); /* fails the test when out of memory */
void fake_world_release(struct fake_world *w);

/* Time. run moves on by ns; live moves in steps of a second, with fake_world_kubelet after each. */
void fake_world_run(struct fake_world *w, int64_t ns);
void fake_world_live(struct fake_world *w, int seconds);
/* One look of the node at every pod: Pending to Running and ready, Running to its outcome, deleting to gone. Gives pods
 * without a node to node "n1" first. Returns how many pods it changed. */
size_t fake_world_kubelet(struct fake_world *w);

/* Whoever runs a Workload that nobody owns says that nothing of it runs any more: it lets its quota go. */
void fake_world_let_go(struct fake_world *w, const char *ns, const char *name);
/* From now on that happens as soon as one is evicted. */
void fake_world_runner(struct fake_world *w);

/* The nth allocation (1: the first) after the next change has been heard fails, once. Errors are not printed. */
void fake_world_sabotage(struct fake_world *w, uint64_t nth);
bool fake_world_spare(struct fake_world *w); /* No more; did it come to that? */

/* A user's writes, applied at once. All return the new state (borrowed until the next commit) and fail the test on an
 * error. `json` is a manifest with apiVersion and kind. */
const struct object *fake_world_put(struct fake_world *w, const char *json);
const struct object *fake_world_patch(struct fake_world *w, const char *kind, const char *ns,
                                      const char *name, const char *sub, const char *json);
void fake_world_delete(struct fake_world *w, const char *kind, const char *ns, const char *name,
                       const char *propagation);

const struct kind *fake_world_kind(const char *kind); /* by Kind in any group */
const struct object *fake_world_get(struct fake_world *w, const char *kind, const char *ns,
                                    const char *name);
size_t fake_world_count(struct fake_world *w, const char *kind);
/* A member of an object's JSON as text ("spec.suspend" -> "true", strings without quotes; "spec.nodes.0": of a list),
 * "" when absent; in a static buffer. */
const char *fake_world_text(const struct object *o, const char *dotted);
/* "True", "False", "Unknown" or "" of status.conditions. */
const char *fake_world_condition(const struct object *o, const char *type);
const char *fake_world_condition_reason(const struct object *o, const char *type);
const char *fake_world_condition_message(const struct object *o, const char *type);
/* How many Events have this reason, counts added up. */
int64_t fake_world_events(struct fake_world *w, const char *reason);

/* The API server's part. 0 and *ret (a reference), or an error. */
static inline int fake_store_patch(struct fake_world *w, const struct kind *k, struct str ns,
                                   struct str name, const char *sub, enum patch_type type,
                                   struct str body, const struct object **ret, struct err *err) {
    return memory_store_patch(&w->store, k, ns, name, sub, type, body, ret, err);
}
static inline int fake_store_remove(struct fake_world *w, const struct kind *k, struct str ns,
                                    struct str name, const struct delete_options *o,
                                    const struct object **ret, struct err *err) {
    return memory_store_remove(&w->store, k, ns, name, o, ret, err);
}

#endif

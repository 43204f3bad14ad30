/*
 * writer (kube): mirror/writer.h as requests to an API server.
 *
 * Order. Writes to one object are sent in the order of the calls, the next when the one before is answered. Between
 * objects the more urgent goes first: Workload status (admissions), then everything else, then the counters of
 * ClusterQueue, LocalQueue and Cohort status, then Events; the last two never take more than a part of the places, so
 * that an admission finds one, and give way while the server's answers are slow (kube/pace.h). At most `in_flight` are
 * under way. writer_room() says whether one more that nobody waits for would go at once.
 *
 * Coalescing. A merge patch of the status of a ClusterQueue, LocalQueue or Cohort that still waits is replaced by the
 * next one of the same object. That is sound because such a patch is the whole difference between what the object
 * should say and what it says: the second one was decided later, from a state that the first had not changed yet, so
 * the object ends as if the first had never been decided, and a state in between is one that any watcher may miss.
 * What the first was to achieve is achieved, or fails, with the second: its `done` is called with that result.
 *
 * Read your writes. With a mirror, the state that a write was answered with is applied to it before `done` is called
 * (mirror_answer): a controller finds what it wrote, as in the embedded world.
 *
 * Failure. 429 and 503 with Retry-After are sent again by the client, up to 10 times. 409 is ERR_CONFLICT or
 * ERR_EXISTS: look again and decide again. When the connection broke, or the server failed (5xx): ERR_UNAVAILABLE when
 * nothing was sent, ERR_TIMEOUT ("it may have happened: ...") when it was; the controllers decide again from what the
 * watch tells. But a patch that begins with the resourceVersion that it changes is sent again, for a minute at most,
 * until it is known what became of it, and nobody is told before: who believes that an admission did not happen gives
 * its quota to another. Where the end is a conflict, also the first time, the object is read, and the mirror has its
 * state first.
 */
#ifndef BERTH_KUBE_WRITER_H
#define BERTH_KUBE_WRITER_H

#include "kube/client.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"

/* Takes out of an object what nobody here needs, before it is kept. */
typedef void kube_trim(const struct kind *k, yyjson_mut_val *obj);
/* Drops metadata.managedFields and kubectl's last-applied annotation. */
void kube_trim_managed(const struct kind *k, yyjson_mut_val *obj);

struct kube_writer_options {
    struct mirror *mirror; /* told of answers; NULL: none */
    kube_trim *trim;       /* of answers; NULL: none. The same as the reflectors' */
    /* Asked right before a request is handed to the wire, on a connection that stands, and again for each retry: may we
     * still write? False: the write fails with ERR_UNAVAILABLE and nothing was sent. NULL: always. */
    bool (*fence)(void *ctx);
    void *fence_ctx;
    size_t in_flight; /* 0: 32 */
    size_t waiting;   /* writes that may wait; 0: LIMIT_WRITES_WAITING. Beyond it: ERR_TOO_MANY */
    double qps;       /* writes a second; 0: no limit */
    size_t burst;     /* at once, with qps; 0: 1 */
};

struct kube_writer_stats {
    size_t waiting, in_flight;
    uint64_t sent, coalesced, failed;
};

/* o NULL: all defaults. */
struct writer *kube_writer_new(struct kube_client *c, const struct kube_writer_options *o,
                               struct err *err);
void kube_writer_free(struct writer *w); /* what waits or is under way is forgotten, without done */
void kube_writer_stats(const struct writer *w, struct kube_writer_stats *ret);

#endif

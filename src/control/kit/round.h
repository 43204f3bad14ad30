/*
 * round: the writes of one piece of work on one key, from the first to the last answer.
 *
 *     struct round *r = round_begin(q, env->writer, "berth-x-controller", key);
 *     round_patch(r, pods, ns, pod, "status", PATCH_MERGE, body);
 *     round_create(r, pods, ns, json);
 *     return round_end(r);
 *
 * While answers are due the key is busy (WORK_BUSY), so no second hand touches it; by then the mirror shows what was
 * written (mirror/writer.h). When the last answer is in, the key ends with WORK_OK if all succeeded, with WORK_RETRY
 * else: conflicts are normal, the work is decided again from a newer picture. "Not found" on a patch or removal and
 * "exists" on a create end as WORK_RETRY too, since they mean the picture was old.
 *
 * A round that memory was not enough for is NULL: its writes do nothing, and it ends in WORK_RETRY.
 *
 * A round outlives its controller: when the queue is freed, the answers are dropped.
 */
#ifndef BERTH_CONTROL_ROUND_H
#define BERTH_CONTROL_ROUND_H

#include "base/log.h"
#include "control/kit/workqueue.h"
#include "mirror/mirror.h"
#include "mirror/writer.h"

struct round;

/* NULL: out of memory. `who` is static; the key is copied. Controllers have controller_begin. */
struct round *round_begin(struct workqueue *q, struct writer *w, const char *who,
                          struct work_key key);
/* What a controller says that it writes (controller.h): checked at each write. ctx outlives the round. */
enum may {
    MAY_CREATE = 1 << 0,
    MAY_PATCH = 1 << 1,
    MAY_STATUS = 1 << 2, /* patch the status, or another subresource */
    MAY_DELETE = 1 << 3,
};
typedef bool round_may(const void *ctx, const struct kind *k, enum may verb);
/* m: where a write that succeeded is seen by the time its answer is here (mirror/writer.h). A write that `may` does not
 * know, or an answer that comes too early, is a fault of the program: it is logged, and the write goes on. */
void round_bind(struct round *r, const struct mirror *m, struct log *log, round_may *may,
                const void *ctx);
/* From now on such a fault ends the program: for tests. */
void round_be_strict(void);

/* Called for each answer, before it is counted; not called once the queue is gone. `tag` is the latest round_tag. A
 * hook may write more in the same round. Return 0 to count the write as good, or an error code. */
typedef int round_hook(void *ctx, struct round *r, uint64_t tag, const struct write_result *res);
void round_on_done(struct round *r, round_hook *hook, void *ctx);
void round_tag(struct round *r, uint64_t tag);

void round_create(struct round *r, const struct kind *k, struct str ns, struct str json);
void round_patch(struct round *r, const struct kind *k, struct str ns, struct str name,
                 const char *subresource, enum patch_type type, struct str body);
void round_remove(struct round *r, const struct kind *k, struct str ns, struct str name,
                  const struct delete_options *o);
/* Makes the round end in WORK_RETRY, whatever the answers: part of the work could not even be written down. */
void round_fail(struct round *r, int code);
struct work_key round_key(const struct round *r);
struct str round_ns(const struct round *r);
struct str round_name(const struct round *r);

/* No more writes from the worker. WORK_BUSY when answers are due, else the outcome. r is not used afterwards. */
enum work round_end(struct round *r);

#endif

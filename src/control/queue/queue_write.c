/*
 * queue_write: what the queue controller writes: the patch from the view that it decoded to the one that it wants,
 * conditional on the version that was looked at (control/kit/edit.h), in a round of its own.
 */
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"

enum work queue_send(struct queue_controller *c, const struct object *o, const char *sub, int code,
                     struct buf *body, round_hook *hook) {
    enum work w = code == ERR_NOT_FOUND ? WORK_OK : WORK_RETRY;
    struct round *r = code == 0 ? controller_begin(&c->base) : NULL;
    if (r != NULL) {
        round_on_done(r, hook, c);
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(body));
        w = round_end(r);
    }
    buf_release(body);
    return w;
}

enum work queue_edit(struct queue_controller *c, const struct object *o, const struct workload *was,
                     const struct workload *want, round_hook *hook) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int code = edit_write(o, EDIT_VERSION, was, want, &body);
    return queue_send(c, o, "", code, &body, hook);
}

enum work queue_change_send(struct queue_controller *c, const struct workload_change *ch,
                            round_hook *hook) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int code = workload_change_write(ch, &body);
    return queue_send(c, ch->obj, "status", code, &body, hook);
}

enum work queue_change_write(struct queue_controller *c, const struct workload_change *ch) {
    return queue_change_send(c, ch, queue_written);
}

/*
 * queue_tell: writes of the queue controller about one Workload, and the events that go with them: an event is told
 * when its write has succeeded, and forgotten when the Workload is looked at anew.
 */
#include <stdarg.h>
#include <stdio.h>

#include "control/queue/queue_private.h"
#include "control/load/workload_status.h"

void queue_tell(struct queue_work *q, enum event_type type, const char *reason, const char *fmt,
                ...) {
    char text[LIMIT_EVENT_MESSAGE + 64];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0) {
        return;
    }
    size_t len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    struct queue_say *s = mem_alloc(sizeof(*s) + len + 1), **last = &q->says;
    if (s == NULL) {
        return; /* best effort, as all events */
    }
    *s = (struct queue_say){.type = type, .reason = reason};
    memcpy(s->text, text, len);
    s->text[len] = 0;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = s;
}

void queue_tell_not(struct queue_work *q) {
    while (q->says != NULL) {
        struct queue_say *next = q->says->next;
        mem_free(q->says);
        q->says = next;
    }
}

int queue_written(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct queue_controller *c = ctx;
    struct queue_work *q =
        res->code == 0 && res->obj != NULL ? map_get(&c->by_uid, res->obj->uid) : NULL;
    for (const struct queue_say *s = q != NULL ? q->says : NULL; s != NULL; s = s->next) {
        recorder_event(c->recorder, res->obj, s->type, s->reason, "%s", s->text);
    }
    if (q != NULL) {
        queue_tell_not(q);
    }
    return res->code;
}

enum work queue_patch(struct queue_controller *c, const struct object *o, const char *sub,
                      struct buf *body, round_hook *hook) {
    enum work w = WORK_RETRY;
    struct round *r =
        buf_ok(body) == 0 ? round_new(c->works, c->env->writer, QUEUE_WHO, o->ns, o->name) : NULL;
    if (r != NULL) {
        round_on_done(r, hook, c);
        round_patch(r, o->kind, o->ns, o->name, sub, PATCH_MERGE, buf_view(body));
        w = round_end(r);
    }
    buf_release(body);
    return w;
}

enum work queue_change_write(struct queue_controller *c, struct queue_work *q,
                             struct workload_change *ch) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int r = workload_change_write(ch, &body);
    if (r == 0) {
        return queue_patch(c, ch->obj, "status", &body, queue_written);
    }
    buf_release(&body);
    return r == ERR_NOT_FOUND ? WORK_OK : WORK_RETRY;
}

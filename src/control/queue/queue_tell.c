/*
 * queue_tell: the events that go with a write about one Workload: an event is told when its write has succeeded, and
 * forgotten when the Workload is looked at anew.
 */
#include <stdarg.h>
#include <stdio.h>

#include "control/queue/queue_private.h"

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
        recorder_event(c->base.recorder, res->obj, s->type, s->reason, "%s", s->text);
    }
    if (q != NULL) {
        queue_tell_not(q);
    }
    return res->code;
}

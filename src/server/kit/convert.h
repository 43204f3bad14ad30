/*
 * convert (server): waiting for conversion webhooks (strategy Webhook of a CustomResourceDefinition).
 *
 * Conversion is a plain function call (codec_to_storage, codec_from_storage). If it needs a webhook whose answer for
 * this object is not cached, the call returns ERR_AGAIN, and at the end of the loop's turn the webhook is called with
 * one review of all objects that were requested. The caller that got ERR_AGAIN undoes its work, waits here, and starts
 * again from the beginning:
 *
 *     write_finish, call_object, call_fail     wait by themselves: a write, an answer, a read
 *     watches                                  stop before the object and continue later
 *
 * Answers are cached for some time (LIMIT_CONVERSION_BYTES), with the whole question as the key, so that lists and
 * watches ask only once about each state of an object. Errors are cached for one second.
 */
#ifndef BERTH_SERVER_CONVERT_H
#define BERTH_SERVER_CONVERT_H

#include "server/kit/context.h"

struct convert_wait {
    void (*ready)(struct convert_wait *w); /* it waits no more: do it again */
    void (*drop)(struct convert_wait *w);  /* the server ends: NULL, or frees what waits */
    const struct kind *kind;
    struct convert_wait *next, **at; /* at: NULL while it does not wait */
    unsigned rounds;                 /* how often it waited */
};

int convert_init(struct server *s, struct err *err);
void convert_release(struct server *s);

/* After ERR_AGAIN. False: it has waited too often, and fails. `w` is zeroed before the first time, and then kept. */
bool convert_await(struct server *s, struct convert_wait *w);
void convert_forget(struct convert_wait *w); /* no-op when it does not wait */

/* A write whose step ended with ERR_AGAIN (w->failure): true when it waits, to run again (write_again); else w->failure
 * says why not. */
bool convert_await_write(struct write *w);
/* True when it waited. Before the write is freed. */
bool convert_forget_write(struct write *w);

#endif

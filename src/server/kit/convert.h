/*
 * convert (server): waiting for conversion webhooks (strategy Webhook of a CustomResourceDefinition).
 *
 * Conversion is a function call wherever it is needed (codec_to_storage, codec_from_storage). Where only a webhook
 * knows how, and what it says of this very object is not known yet, the call returns ERR_AGAIN and the webhook is asked
 * at the end of the loop's turn, about all objects that were wanted in one review. Whoever got ERR_AGAIN gives up what
 * it did, waits here, and does it again from the start:
 *
 *     write_finish, call_object, call_fail     wait by themselves: a write, an answer, a read
 *     watches                                  stop before the object, and go on later
 *
 * Answers are kept for some time (LIMIT_CONVERSION_BYTES), by all that was asked, so that lists and watches ask once
 * about each state of an object. An error is kept for a second: long enough for those who wait.
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

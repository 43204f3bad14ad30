/*
 * turns (server): interleaves answers that take several steps with each other and with all other work of the loop.
 *
 * Such an answer is a stream (call_long); its next step is made when the peer has read the last one. A slow reader
 * costs the memory of one step, and many long answers do not block other requests.
 */
#ifndef BERTH_SERVER_TURNS_H
#define BERTH_SERVER_TURNS_H

#include "server/kit/context.h"

struct answer_turn {
    struct call *call;
    void (*go)(struct answer_turn *t); /* makes and sends the next step */
    bool queued;
    struct answer_turn *next; /* of those that can go on */
};

int turns_init(struct server *s, struct err *err);
void turns_release(struct server *s);

/* The peer of the stream has taken all, or nothing was sent: it may go on, in one of the next turns of the loop. */
void turn_ready(struct answer_turn *t);
/* It goes on no more. */
void turn_forget(struct answer_turn *t);

#endif

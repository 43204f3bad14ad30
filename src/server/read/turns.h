/*
 * turns (server): answers in several steps take turns with each other and with everything else that the loop does.
 *
 * An answer is a stream (call_long) whose next step is made when the peer has taken the last one; who reads slowly
 * costs the memory of one step, and a hundred long answers hold up nobody.
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

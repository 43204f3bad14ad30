/*
 * pods_turn: so many pods are made ready and started at a time; the others wait, in their order. A queue may admit a
 * thousand at once: they would only take the processors and the networks from each other, and none would be soon.
 */
#include <unistd.h>

#include "node/pods/pods_private.h"

enum { TURNS_FIRST = 8, TURNS_OF_CPU = 8 };

size_t pods_turns_of_machine(void) {
    return TURNS_FIRST + TURNS_OF_CPU * (size_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static void enqueue(struct pod *p) {
    struct pods *ps = p->pods;

    if (p->turn == POD_TURN_WAITS) {
        return;
    }
    *(ps->waiting ? &ps->last_waiting->next_waiting : &ps->waiting) = p;
    ps->last_waiting = p;
    p->next_waiting = NULL;
    p->turn = POD_TURN_WAITS;
}

static void dequeue(struct pod *p) {
    struct pod **at = &p->pods->waiting, *before = NULL;

    while (*at != p) {
        before = *at;
        at = &before->next_waiting;
    }
    *at = p->next_waiting;
    p->pods->last_waiting = p == p->pods->last_waiting ? before : p->pods->last_waiting;
}

void pods_next_turns(void *ctx) {
    struct pods *ps = ctx;

    while (ps->waiting && ps->n_turns < ps->turns) {
        struct pod *p = ps->waiting;
        dequeue(p);
        p->turn = POD_TURN_HAS;
        ps->n_turns++;
        pod_event(p, POD_EV_BEGIN);
    }
}

bool pod_turn(struct pod *p) {
    struct pods *ps = p->pods;

    if (p->turn == POD_TURN_NONE && ps->waiting == NULL && ps->n_turns < ps->turns) {
        p->turn = POD_TURN_HAS;
        ps->n_turns++;
    }
    if (p->turn != POD_TURN_HAS) {
        enqueue(p);
    }
    return p->turn == POD_TURN_HAS;
}

void pod_turn_end(struct pod *p) {
    struct pods *ps = p->pods;

    if (p->turn == POD_TURN_WAITS) {
        dequeue(p);
    }
    ps->n_turns -= p->turn == POD_TURN_HAS;
    p->turn = POD_TURN_NONE;
    if (ps->waiting) {
        ps->clock->timer_start(ps->turner, 0);
    }
}

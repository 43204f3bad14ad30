/*
 * flow: decides which request is handled next: API Priority and Fairness for a server with one thread.
 *
 * A request uses the thread's time and, while it is in progress, one of the seats of its priority level
 * (LIMIT_FLOW_SEATS, divided by the levels' shares). While the thread has time to spare and the level has a seat, a
 * request is handled at once. Otherwise it waits in its flow. Levels take turns according to the time that their
 * requests took, weighted by their shares; the flows of a level share its time equally, however many requests each
 * sends (start-time fair queueing, by measured time). A flow has at most half of the seats of its level. Lists that
 * take several steps are charged for each, and the next step is that of the flow that had the least time.
 *
 * Requests that may not wait are answered with 429. Exempt requests neither wait nor hold seats.
 */
#ifndef BERTH_SERVER_FLOW_H
#define BERTH_SERVER_FLOW_H

#include "server/kit/context.h"

int flows_init(struct server *s, struct err *err);
void flows_release(struct server *s);

/* Calls go(c), now or later, or answers c with 429. */
void flow_admit(struct call *c, void (*go)(struct call *c));
/* It is over, or goes on as a watch or session: its seat is free; or its peer left while it waited. No-op when it is
 * not admitted. */
void flow_leave(struct call *c);

/* Whether the next step of a's list goes before that of b's: its level, or else its flow, had less. */
bool flow_before(const struct call *a, const struct call *b);
/* Its flow, which stays until it is charged: it had so much more of the thread's time. NULL: exempt. */
struct flow *flow_hold(struct call *c);
void flow_charge(struct server *s, struct flow *f, int64_t ns);

/* Sets what is told as gauges. */
void flows_gauges(struct server *s);
/* Headers that say which schema and level it belongs to. */
void flow_headers(struct call *c);

#endif

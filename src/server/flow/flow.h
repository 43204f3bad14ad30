/*
 * flow: whose request is next. API Priority and Fairness for a server that has one thread.
 *
 * What a request takes of the server is the thread's time, and for as long as it is under way one of the seats of its
 * priority level (LIMIT_FLOW_SEATS, divided by the levels' shares). So long as the thread has time to spare and the
 * level a seat, a request is handled at once. Else it waits in its flow: levels take turns by the time that their
 * requests took, weighed by their shares, and so do the flows of a level, each as much as any other, however many
 * requests it sends (start-time fair queueing, by measured time). A flow has half of its level's seats at most. Lists
 * that take more than one step are charged for each, and the next step is that of the flow that had the least.
 *
 * What may not wait any more is answered 429. Exempt requests neither wait nor hold seats.
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

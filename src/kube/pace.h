/*
 * pace (kube): how many writes may be under way that nobody waits for (counters, Events, why something waits), so that
 * they take what the server has to spare and no more.
 *
 * The server's own answers say how busy it is: the time of an answer against the shortest of the last minutes. While
 * answers are quick the window grows by one for each window of them; when they slow down it is halved, once for each
 * round trip, to one at the least. (The idea is that of congestion control for background transfers, RFC 6817.) Pure:
 * the caller has the clock, times are monotonic.
 */
#ifndef BERTH_KUBE_PACE_H
#define BERTH_KUBE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    double window, most;
    int64_t best_ns[2]; /* shortest answer of the minute before and of this one; 0: none */
    int64_t minute_ns;  /* when this one began */
    int64_t halved_ns;
};

void pace_init(struct pace *p, size_t most,
               int64_t now_ns); /* begins at most, as nothing is known */
/* A write took that long. */
void pace_answer(struct pace *p, int64_t took_ns, int64_t now_ns);
/* Whether one more may go, with so many writes of any kind under way. */
bool pace_room(const struct pace *p, size_t flying);

#endif

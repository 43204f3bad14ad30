/*
 * queue_tally: how many workloads wait, hold quota and are admitted, and what those hold, for each ClusterQueue and
 * each LocalQueue; kept up to date one transition at a time, so that a status costs what changed.
 *
 * Each workload carries what it is counted as (struct tally_share); counting it anew takes the old share out and puts
 * the new one in. Sums are wider than amounts, so that saturation never makes a sum wrong for good.
 */
#ifndef BERTH_CONTROL_QUEUE_TALLY_H
#define BERTH_CONTROL_QUEUE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_amount;

/* What is held of one flavor and resource: by all with quota, and by the admitted ones among them. */
struct tally_cell {
    uint32_t flavor, resource;
    __int128 reserved, admitted;
};

struct tally {
    int64_t pending, reserving,
        admitted;         /* reserving: all that hold quota, the admitted ones too */
    int64_t told;         /* of the pending: those that were looked at and wait on */
    struct tally_cell *v; /* sorted; cells of zero stay until the tally goes */
    size_t n, cap;
};

enum tally_state { TALLY_NONE, TALLY_PENDING, TALLY_RESERVING, TALLY_ADMITTED };

/* One workload's part. Zeroed: counted nowhere. */
struct tally_share {
    enum tally_state state;
    bool told;
    struct tally *local, *cluster; /* where it is counted; either may be NULL */
    struct tally_amount *held;
    uint32_t n_held;
};

struct tally_amount {
    uint32_t flavor, resource;
    int64_t v;
};

void tally_release(struct tally *t); /* no share may count here any more */

/* Counts a workload as `state`, holding held[0..n), or asking for them (PENDING, flavor NAME_ABSENT). True in *ret_news
 * when any number changed. ERR_NOMEM leaves it counted as it was; without held amounts it never fails. */
int tally_count(struct tally_share *s, struct tally *local, struct tally *cluster,
                enum tally_state state, const struct held_amount *held, size_t n, bool *ret_news);
void tally_told(struct tally_share *s, bool told);
/* Adds all of another one's. ERR_NOMEM: part of it is missing. */
int tally_merge(struct tally *t, const struct tally *from);

/* Sums of a pair, as amounts. */
int64_t tally_reserved(const struct tally *t, uint32_t flavor, uint32_t resource);
int64_t tally_admitted(const struct tally *t, uint32_t flavor, uint32_t resource);

#endif

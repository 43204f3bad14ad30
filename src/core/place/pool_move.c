/* pool_move (core): the seats of a workload that another takes over, or that needs fewer. */
#include "core/place/pool_private.h"

static struct str group_name(const struct map *groups, struct str workload) {
    const struct seat_group *g = map_get(groups, workload);
    return g != NULL ? g->workload : (struct str){0};
}

/* One seat. The uid in its own memory is that of the workload it was made for: it borrows its new group's. */
static int seat_move(struct pool *p, struct seat *s, struct str to) {
    seat_group_leave(p, s); /* with the last one the group goes, and its name with it */
    s->workload = to;
    if (seat_group_join(p, s) == 0) {
        s->workload = group_name(s->loose ? &p->loose : &p->groups, to);
        return 0;
    }
    s->workload = (struct str){0};
    if (str_empty(s->pod)) {
        pool_seat_drop(p, s); /* it has neither, now */
    }
    return ERR_NOMEM;
}

int pool_workload_move(struct pool *p, struct str from, struct str to) {
    struct seat *s;
    int r = 0;
    while (r == 0 && (s = pool_workload_first(p, from)) != NULL) {
        r = seat_move(p, s, to);
    }
    while (r == 0 && (s = pool_loose_first(p, from)) != NULL) {
        r = seat_move(p, s, to);
    }
    return r;
}

void pool_workload_trim(struct pool *p, struct str workload, struct str set, int64_t most) {
    int64_t n = 0;
    struct seat *last = NULL;
    for (struct seat *s = pool_workload_first(p, workload); s != NULL; s = s->group_next) {
        n += str_eq(s->set, set);
        last = s;
    }
    for (struct seat *s = last, *before; s != NULL && n > most; s = before) {
        before = s->group_prev;
        if (str_eq(s->set, set) && str_empty(s->pod)) {
            pool_seat_drop(p, s);
            p->generation++;
            n--;
        }
    }
}

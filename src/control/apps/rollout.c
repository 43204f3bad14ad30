/* rollout: arithmetic of rolling updates. See rollout.h. */
#include "control/apps/rollout.h"

#include <stdlib.h>

/* ---- bounds ---- */

static int32_t amount(struct str s, int32_t of, bool up) {
    int64_t n;
    bool percent = s.n > 0 && s.p[s.n - 1] == '%';
    if (!str_to_i64(str_head(s, s.n - percent), &n) || n < 0 || n > INT32_MAX) {
        return 0;
    }
    n = percent ? (n * of + (up ? 99 : 0)) / 100 : n;
    return n > INT32_MAX ? INT32_MAX : (int32_t)n;
}

struct rollout_bounds rollout_bounds(int32_t wanted, bool rolling, struct str max_surge,
                                     struct str max_unavailable) {
    struct rollout_bounds b = {.wanted = wanted, .rolling = rolling};
    if (rolling) {
        b.surge = amount(max_surge, wanted, true);
        b.unavailable = amount(max_unavailable, wanted, false);
        if (b.surge == 0 && b.unavailable == 0) {
            b.unavailable = 1;
        }
        b.unavailable = b.unavailable > wanted ? wanted : b.unavailable;
    }
    return b;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

int32_t rollout_new_replicas(const struct rollout_bounds *b, int64_t total, int32_t now) {
    int64_t room = (int64_t)b->wanted + b->surge - total;
    if (!b->rolling) {
        return b->wanted;
    }
    return room <= 0 ? now : now + (int32_t)least(room, b->wanted - now);
}

/* ---- old ones ---- */

static int by_created(const void *va, const void *vb) {
    const struct rollout_set *a = va, *b = vb;
    return a->created_ns != b->created_ns ? (a->created_ns > b->created_ns) * 2 - 1
                                          : str_cmp(a->name, b->name);
}

/* Pods that do not run are no loss: down by at most `most`. Returns by how many. */
static int64_t drop_unhealthy(struct rollout_set *old, size_t n, int64_t most) {
    int64_t done = 0;
    for (size_t i = 0; i < n && done < most; i++) {
        int64_t less = least(most - done, old[i].to - old[i].available);
        if (old[i].to > 0 && less > 0) {
            old[i].to -= (int32_t)less;
            done += less;
        }
    }
    return done;
}

static int64_t drop_rest(struct rollout_set *old, size_t n, int64_t most) {
    int64_t done = 0;
    for (size_t i = 0; i < n && done < most; i++) {
        int64_t less = least(most - done, old[i].to);
        old[i].to -= (int32_t)less;
        done += less;
    }
    return done;
}

bool rollout_old_replicas(const struct rollout_bounds *b, struct rollout_set *old, size_t n,
                          const struct rollout_set *new) {
    int64_t pods = new ? new->to : 0, olds = 0, available = new ? new->available : 0;
    int64_t must = (int64_t)b->wanted - b->unavailable;
    for (size_t i = 0; i < n; i++) {
        old[i].to = old[i].replicas;
        olds += old[i].replicas;
        available += old[i].available;
    }
    pods += olds;
    int64_t most = pods - must - (new ? new->to - new->available : 0);
    if (olds == 0 || most <= 0) {
        return false;
    }
    qsort(old, n, sizeof *old, by_created);
    int64_t done = drop_unhealthy(old, n, most);
    if (available > must) {
        done += drop_rest(old, n, available - must);
    }
    return done > 0;
}

/* ---- shares ---- */

static int larger_first(const void *va, const void *vb) {
    const struct rollout_set *a = va, *b = vb;
    return a->replicas != b->replicas ? (a->replicas < b->replicas) * 2 - 1 : by_created(a, b);
}

static int larger_newer_first(const void *va, const void *vb) {
    const struct rollout_set *a = va, *b = vb;
    return a->replicas != b->replicas ? (a->replicas < b->replicas) * 2 - 1 : by_created(b, a);
}

/* The set's part of a Deployment of another size, less what it has. */
static int64_t share_of(const struct rollout_bounds *b, int32_t max_before,
                        const struct rollout_set *s) {
    if (b->wanted == 0) {
        return -(int64_t)s->replicas;
    }
    int64_t before = s->max_before > 0 ? s->max_before : max_before;
    int64_t most = (int64_t)b->wanted + b->surge;
    int64_t size = before > 0 ? (2 * s->replicas * most + before) / (2 * before) : s->replicas;
    return size - s->replicas;
}

void rollout_share(const struct rollout_bounds *b, int32_t max_before, struct rollout_set *sets,
                   size_t n) {
    int64_t total = 0, added = 0;
    for (size_t i = 0; i < n; i++) {
        total += sets[i].replicas;
    }
    int64_t add = (b->wanted > 0 ? (int64_t)b->wanted + b->surge : 0) - total;
    qsort(sets, n, sizeof *sets, add > 0 ? larger_newer_first : larger_first);
    for (size_t i = 0; i < n; i++) {
        int64_t part = share_of(b, max_before, &sets[i]), left = add - added;
        part = sets[i].replicas == 0 || left == 0 ? 0
               : add > 0                          ? least(part, left)
                                                  : -least(-part, -left);
        sets[i].to = sets[i].replicas + (int32_t)part;
        added += part;
    }
    if (n > 0 && add != 0) {
        int64_t to = sets[0].to + add - added;
        sets[0].to = to < 0 ? 0 : (int32_t)to;
    }
}

/* held: see held.h. Looks for the next one over all that wait: some thousands at most, and a release starts a request
 * that takes a GPU seconds. */
#include "core/route/held.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define SECOND INT64_C(1000000000)
enum { TAG_UNIT = 1 << 16 }; /* of virtual time: cost 1 at weight 1 */

int held_init(struct held_queue *h, const struct held_bounds *b, int64_t now) {
    assert(b->most > 0 && b->most <= HELD_MOST);
    *h = (struct held_queue){.bounds = *b};
    h->v = mem_array(b->most, sizeof(*h->v));
    h->lanes = mem_array(HELD_TENANTS_MAX, sizeof(*h->lanes));
    if (h->v == NULL || h->lanes == NULL) {
        held_release(h);
        return ERR_NOMEM;
    }
    held_open(h, now);
    return 0;
}

void held_release(struct held_queue *h) {
    mem_free(h->v);
    mem_free(h->lanes);
    *h = (struct held_queue){0};
}

void held_open(struct held_queue *h, int64_t now) {
    bucket_init(&h->pace, h->bounds.pace, h->bounds.burst, SECOND, now);
}

/* ---- tenants ---- */

/* A tenant's lane; one that is empty and behind virtual time is forgotten, as it would start from there anyway. */
static struct held_lane *lane_of(struct held_queue *h, uint64_t tenant) {
    struct held_lane *spare = NULL;

    for (size_t i = 0; i < HELD_TENANTS_MAX; i++) {
        struct held_lane *l = &h->lanes[i];
        if (l->used && l->tenant == tenant) {
            return l;
        }
        bool idle = !l->used || (l->n == 0 && l->finish <= h->virtual_time);
        spare = spare == NULL && idle ? l : spare;
        if (!l->used) {
            break; /* lanes are used from the front */
        }
    }
    if (spare != NULL) {
        *spare = (struct held_lane){.tenant = tenant, .used = true};
    }
    return spare;
}

static void take_out(struct held_queue *h, struct held_item *x) {
    struct held_lane *l = &h->lanes[x->lane - 1];

    l->n--;
    l->bytes -= x->bytes;
    h->n--;
    h->bytes -= x->bytes;
    x->lane = 0;
    x->owner = NULL;
    x->generation++;
}

/* ---- coming ---- */

/* What would go for a newcomer of this priority: the lowest, and of those the newest; NULL: none is lower. */
static struct held_item *least(struct held_queue *h, int32_t priority) {
    struct held_item *worst = NULL;

    for (size_t i = 0; i < h->top; i++) {
        struct held_item *x = &h->v[i];
        if (x->lane != 0 && x->priority < priority &&
            (worst == NULL || x->priority < worst->priority ||
             (x->priority == worst->priority && x->order > worst->order))) {
            worst = x;
        }
    }
    return worst;
}

static struct held_item *free_slot(struct held_queue *h) {
    for (size_t i = 0; h->n < h->top && i < h->top; i++) {
        if (h->v[i].lane == 0) {
            return &h->v[i];
        }
    }
    return h->top < h->bounds.most ? &h->v[h->top++] : NULL;
}

static bool has_room(const struct held_queue *h, int64_t bytes) {
    return h->n < h->bounds.most && (h->bounds.bytes == 0 || h->bytes + bytes <= h->bounds.bytes);
}

/* Room for one more, by letting one of lower priority go where that is enough. */
static bool make_room(struct held_queue *h, const struct held_request *r, void **ret_shed) {
    struct held_item *x = has_room(h, r->bytes) ? NULL : least(h, r->priority);

    if (x != NULL && (h->bounds.bytes == 0 || h->bytes - x->bytes + r->bytes <= h->bounds.bytes)) {
        *ret_shed = x->owner;
        take_out(h, x);
    }
    return has_room(h, r->bytes);
}

static uint64_t tag(const struct held_request *r) {
    int64_t weight = r->weight < 1 ? 1 : r->weight > HELD_WEIGHT_MAX ? HELD_WEIGHT_MAX : r->weight;
    int64_t cost = r->cost < 1 ? 1 : r->cost > INT32_MAX ? INT32_MAX : r->cost;
    return (uint64_t)(cost * TAG_UNIT / weight) + 1;
}

enum held_refusal held_add(struct held_queue *h, const struct held_request *r, int64_t now,
                           uint64_t *ret_handle, void **ret_shed) {
    struct held_lane *l;

    h->virtual_time = h->n == 0 ? h->last : h->virtual_time;
    l = lane_of(h, r->tenant);
    *ret_shed = NULL;
    assert(r->bytes >= 0 && r->owner != NULL);
    if (r->deadline <= now) {
        return HELD_LATE;
    }
    if (l == NULL) {
        return HELD_TOO_MANY_TENANTS;
    }
    if ((h->bounds.most_tenant > 0 && l->n >= h->bounds.most_tenant) ||
        (h->bounds.bytes_tenant > 0 && l->bytes + r->bytes > h->bounds.bytes_tenant)) {
        return HELD_TENANT_FULL;
    }
    if (!make_room(h, r, ret_shed)) {
        return HELD_FULL;
    }
    struct held_item *x = free_slot(h);
    assert(x != NULL);
    uint64_t start = l->finish > h->virtual_time ? l->finish : h->virtual_time;
    *x = (struct held_item){.tenant = r->tenant,
                            .order = ++h->order,
                            .generation = x->generation,
                            .bytes = r->bytes,
                            .deadline = r->deadline,
                            .since = now,
                            .start = start,
                            .owner = r->owner,
                            .priority = r->priority,
                            .lane = (uint32_t)(l - h->lanes) + 1};
    l->finish = start + tag(r);
    h->last = l->finish > h->last ? l->finish : h->last;
    l->n++;
    l->bytes += r->bytes;
    h->n++;
    h->bytes += r->bytes;
    *ret_handle = x->generation << 20 | (uint64_t)(x - h->v);
    return HELD_TAKEN;
}

/* ---- going ---- */

bool held_cancel(struct held_queue *h, uint64_t handle) {
    size_t slot = handle & (HELD_MOST - 1);

    if (slot >= h->top || h->v[slot].lane == 0 ||
        (h->v[slot].generation << 20 | (uint64_t)slot) != handle) {
        return false;
    }
    take_out(h, &h->v[slot]);
    return true;
}

void *held_expire(struct held_queue *h, int64_t now) {
    for (size_t i = 0; i < h->top; i++) {
        struct held_item *x = &h->v[i];
        if (x->lane != 0 && x->deadline <= now) {
            void *owner = x->owner;
            take_out(h, x);
            return owner;
        }
    }
    return NULL;
}

static bool before(const struct held_item *a, const struct held_item *b) {
    if (a->priority != b->priority) {
        return a->priority > b->priority;
    }
    return a->start != b->start ? a->start < b->start : a->order < b->order;
}

void *held_next_that(struct held_queue *h, int64_t now, bool (*may)(void *ctx, void *owner),
                     void *ctx) {
    struct held_item *best = NULL;

    if (h->n == 0 || !bucket_allows(&h->pace, 1, now)) {
        return NULL;
    }
    for (size_t i = 0; i < h->top; i++) {
        struct held_item *x = &h->v[i];
        if (x->lane != 0 && x->deadline > now && (best == NULL || before(x, best)) &&
            (may == NULL || may(ctx, x->owner))) {
            best = x;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    bucket_charge(&h->pace, 1, now);
    h->virtual_time = best->start > h->virtual_time ? best->start : h->virtual_time;
    void *owner = best->owner;
    take_out(h, best);
    return owner;
}

void *held_next(struct held_queue *h, int64_t now) {
    return held_next_that(h, now, NULL, NULL);
}

int64_t held_wait(struct held_queue *h, int64_t now) {
    int64_t wait = h->n > 0 ? bucket_wait(&h->pace, 1, now) : -1;

    for (size_t i = 0; i < h->top; i++) {
        int64_t left = h->v[i].deadline - now;
        if (h->v[i].lane != 0 && left < wait) {
            wait = left > 0 ? left : 0;
        }
    }
    return wait;
}

/* property_case (core): random cases, and cases as text. See property.h. */
#include "core/test/property.h"

#include <inttypes.h>
#include <string.h>

#include "base/prng.h"

static const char *const names[EV_KINDS] = {
    "cohort", "cohort-del", "queue",    "queue-del", "queue-stop", "flavor-del",
    "flavor", "submit",     "priority", "finish",    "delete",     "evicted",
    "keep",   "undo",       "tick",     "run",       "run-part",
};

/* How often, of a hundred, once the tree stands. */
static const struct {
    enum property_kind kind;
    unsigned weight, ids;
} mix[] = {
    {EV_COHORT, 2, 4},     {EV_COHORT_DEL, 1, 4}, {EV_QUEUE, 4, 6},      {EV_QUEUE_DEL, 1, 6},
    {EV_QUEUE_STOP, 2, 6}, {EV_FLAVOR_DEL, 1, 4}, {EV_FLAVOR_PUT, 2, 4}, {EV_SUBMIT, 38, 40},
    {EV_PRIORITY, 4, 40},  {EV_FINISH, 10, 40},   {EV_DELETE, 2, 40},    {EV_EVICTED, 8, 40},
    {EV_KEEP, 1, 40},      {EV_UNDO, 1, 40},      {EV_TICK, 3, 1},       {EV_RUN, 17, 1},
    {EV_RUN_PART, 3, 1},
};

static struct property_event draw(struct prng *r) {
    uint64_t at = prng_below(r, 100);
    for (size_t i = 0; i < sizeof(mix) / sizeof(mix[0]); i++) {
        if (at < mix[i].weight) {
            return (struct property_event){(uint8_t)mix[i].kind, (uint8_t)prng_below(r, mix[i].ids),
                                           (uint32_t)prng_u64(r)};
        }
        at -= mix[i].weight;
    }
    return (struct property_event){EV_RUN, 0, 0};
}

const char *property_name(unsigned kind) {
    return kind < EV_KINDS ? names[kind] : "?";
}

void property_draw(struct property_case *c, uint64_t seed) {
    struct prng r;
    prng_seed(&r, seed);
    *c = (struct property_case){.options = (uint32_t)prng_u64(&r)};
    for (uint8_t i = 0; i < 4; i++) {
        c->v[c->n++] = (struct property_event){EV_FLAVOR_PUT, i, 0};
    }
    for (uint8_t i = 0; i < 2 + prng_below(&r, 3); i++) {
        c->v[c->n++] = (struct property_event){EV_COHORT, i, (uint32_t)prng_u64(&r)};
    }
    for (uint8_t i = 0; i < 2 + prng_below(&r, 5); i++) {
        c->v[c->n++] = (struct property_event){EV_QUEUE, i, (uint32_t)prng_u64(&r)};
    }
    size_t n = c->n + 10 + prng_below(&r, EVENTS_MAX - 10 - c->n);
    bool parts = prng_below(&r, 2) == 0;
    while (c->n < n) {
        struct property_event e = draw(&r);
        e.kind = e.kind == EV_RUN_PART && !parts ? EV_RUN : e.kind;
        c->v[c->n++] = e;
    }
}

void property_print(const struct property_case *c, FILE *out) {
    fprintf(out, "options 0 %" PRIu32 "\n", c->options);
    for (size_t i = 0; i < c->n; i++) {
        fprintf(out, "%s %u %" PRIu32 "\n", names[c->v[i].kind], c->v[i].id, c->v[i].seed);
    }
}

bool property_read(struct property_case *c, FILE *in) {
    char name[32];
    unsigned id;
    uint32_t seed;
    *c = (struct property_case){0};
    while (fscanf(in, "%31s %u %" SCNu32, name, &id, &seed) == 3 && c->n < EVENTS_MAX) {
        if (strcmp(name, "options") == 0) {
            c->options = seed;
            continue;
        }
        uint8_t kind = 0;
        while (kind < EV_KINDS && strcmp(names[kind], name) != 0) {
            kind++;
        }
        if (kind == EV_KINDS) {
            return false;
        }
        c->v[c->n++] = (struct property_event){kind, (uint8_t)id, seed};
    }
    return c->n > 0;
}

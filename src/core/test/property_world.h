/* property_world (core): for tests: what the runner believes about the engine, to hold it against. See property.h. */
#ifndef BERTH_CORE_PROPERTY_WORLD_H
#define BERTH_CORE_PROPERTY_WORLD_H

#include "core/admit/engine_private.h"
#include "core/test/property.h"

enum { W_COHORTS = 4, W_QUEUES = 6, W_LOADS = 40, W_FLAVORS = 4, W_LOCALS = 3, W_HELD = 16 };

enum load_state { LOAD_ABSENT, LOAD_PENDING, LOAD_HOLDING };

struct load {
    enum load_state state;
    bool evicting, outrun;
    uint32_t seed;
    uint8_t queue;
    int64_t priority, queued_ns, reserved_ns, protected_until_ns;
    struct held_amount held[W_HELD];
    size_t n_held;
    int32_t counts[2];
};

struct put {
    bool is;
    bool stopped;
    uint32_t seed;
};

struct world {
    struct engine *e;
    struct engine_options o;
    int64_t now_ns;
    struct put cohorts[W_COHORTS], queues[W_QUEUES], flavors[W_FLAVORS];
    struct load loads[W_LOADS];
    struct property_result *out;
};

void world_init(struct world *w, const struct engine_options *o);
/* The input of a thing as its seed says; each returns the engine's code. */
int world_put_flavor(struct world *w, uint8_t id);
int world_put_cohort(struct world *w, uint8_t id);
int world_put_queue(struct world *w, uint8_t id);
int world_put_load(struct world *w, uint8_t id);  /* as pending */
int world_hold_load(struct world *w, uint8_t id); /* with what it holds */
void load_draw(struct load *l, uint32_t seed, int64_t now_ns);
struct str world_name(char kind, uint8_t id);
/* What one pod of a set asks of a resource: 0 nothing. */
int64_t load_request(const struct load *l, size_t set, struct str resource);
size_t load_sets(const struct load *l);
int32_t load_count(const struct load *l, size_t set, int32_t *ret_min);
/* Which of the two groups' flavors a queue offers, as a set of flavor numbers. */
unsigned queue_flavors(uint32_t seed);
enum preempt_policy queue_policy(uint32_t seed,
                                 int which); /* 0 within, 1 reclaim, 2 borrow within */
bool queue_strict(uint32_t seed);

#endif

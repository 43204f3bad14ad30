/* engine_drive: see engine_drive.h. */
#include "engine_drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "measure.h"

enum { UID_BYTES = 37, SAMPLES_PER_ITEM = 4, SAMPLES_MIN = 1 << 20 };

int64_t drive_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what, int code) {
    fprintf(stderr, "bench-engine: %s: %s\n", what, err_name(code));
    exit(1);
}

static void *memory(size_t n, size_t size) {
    void *p = calloc(n, size);
    if (p == NULL) {
        die("memory", ERR_NOMEM);
    }
    return memset(p, 0,
                  n * size); /* resident from now on, so that it is not counted as the engine's */
}

double drive_resident(void) {
    FILE *f = fopen("/proc/self/statm", "re");
    long all = 0, resident = 0;
    if (f == NULL || fscanf(f, "%ld %ld", &all, &resident) != 2) {
        die("/proc/self/statm", ERR_IO);
    }
    fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

struct str drive_name(const char *kind, uint32_t number) {
    static char names[8][48];
    static unsigned next;
    char *p = names[next++ % 8];
    return str_from(p, (size_t)snprintf(p, sizeof(names[0]), "%s-%05u", kind, number));
}

void drive_init(struct drive *d, const struct engine_options *o, struct ask *asks, size_t max) {
    size_t samples = max * SAMPLES_PER_ITEM;
    samples = samples < SAMPLES_MIN ? SAMPLES_MIN : samples;
    *d = (struct drive){.e = engine_new(o),
                        .items = memory(max, sizeof(struct item)),
                        .max_items = max,
                        .holders = memory(max, sizeof(uint32_t)),
                        .asks = asks,
                        .victims = memory(max, sizeof(uint32_t)),
                        .each = {memory(samples, sizeof(int64_t)), 0, samples},
                        .event = {memory(samples, sizeof(int64_t)), 0, samples},
                        .now_ns = INT64_C(1700000000000000000)};
    if (d->e == NULL) {
        die("engine", ERR_NOMEM);
    }
}

static void check(const char *what, int code) {
    if (code != 0) {
        die(what, code);
    }
}

void drive_queue(struct drive *d, const struct queue_input *in, uint32_t number) {
    struct queue_input q = *in;
    q.name = drive_name("queue", number);
    check("queue", engine_queue_put(d->e, &q));
}

void drive_cohort(struct drive *d, const struct cohort_input *in) {
    check("cohort", engine_cohort_put(d->e, in));
}

void drive_flavor(struct drive *d, const char *name) {
    check("flavor", engine_flavor_put(d->e, &(struct flavor_input){.name = str_of(name)}));
}

/* Of a workload. */
static struct str local_of(const struct drive *d, uint32_t queue, uint32_t item) {
    uint32_t n = d->locals > 0 ? d->locals : 1;
    return drive_name("default/queue", queue * n + item % n);
}

void drive_locals(struct drive *d, size_t queues, uint32_t locals) {
    d->locals = locals;
    for (uint32_t q = 0; q < queues; q++) {
        for (uint32_t i = 0; i < locals; i++) {
            check("local", engine_local_put(d->e, local_of(d, q, i), 1));
        }
    }
}

/* Like a real one, 36 characters; the number is at the end. */
static struct str uid_of(uint32_t item, char *text) {
    return str_from(text, (size_t)snprintf(text, UID_BYTES, "%08x-0000-4000-8000-%012u",
                                           item * 2654435761u, item));
}

static uint32_t item_of(struct str uid) {
    uint32_t v = 0;
    for (size_t i = uid.n - 12; i < uid.n; i++) {
        v = v * 10 + (uint32_t)(uid.p[i] - '0');
    }
    return v;
}

static void give(struct drive *d, uint32_t i) {
    static const struct shape plain;
    const struct item *it = &d->items[i];
    const struct ask *a = &d->asks[it->ask];
    char uid[UID_BYTES];
    struct set_input set = {.name = STR("main"),
                            .count = a->count,
                            .shape = &plain,
                            .requests = a->amounts,
                            .n_requests = a->n};
    struct workload_input in = {.uid = uid_of(i, uid),
                                .queue = drive_name("queue", it->queue),
                                .local = local_of(d, it->queue, i),
                                .priority = it->priority,
                                .queued_ns = it->queued_ns,
                                .sets = &set,
                                .n_sets = 1};
    int64_t start = drive_now();
    check("workload", engine_workload_put(d->e, &in));
    d->spent += drive_now() - start;
}

uint32_t drive_put(struct drive *d, uint32_t queue, uint32_t ask, int32_t priority) {
    if (d->n_items == d->max_items) {
        die("more workloads than said", ERR_TOO_MANY);
    }
    uint32_t i = (uint32_t)d->n_items++;
    d->items[i] =
        (struct item){.queue = queue, .ask = ask, .priority = priority, .queued_ns = d->now_ns++};
    give(d, i);
    return i;
}

static void holder_add(struct drive *d, uint32_t i) {
    d->holders[d->n_holders++] = i;
    d->items[i].holds = (uint32_t)d->n_holders;
}

static void holder_del(struct drive *d, uint32_t i) {
    uint32_t place = d->items[i].holds, last = d->holders[--d->n_holders];
    d->holders[place - 1] = last;
    d->items[last].holds = place;
    d->items[i].holds = 0;
}

void drive_finish(struct drive *d, uint32_t i) {
    char uid[UID_BYTES];
    struct str u = uid_of(i, uid);
    if (d->items[i].holds != 0) {
        holder_del(d, i);
    }
    int64_t start = drive_now();
    engine_workload_del(d->e, u);
    d->spent += drive_now() - start;
}

void drive_event(struct drive *d, bool any) {
    d->event_at = drive_now();
    d->any = any;
}

static void sample(struct samples *s, int64_t v, size_t times) {
    for (size_t i = 0; i < times && s->n < s->max; i++) {
        s->v[s->n++] = v;
    }
}

static int64_t steady_now(const struct drive *d) {
    return d->spent + d->idle;
}

static void steady_answer(struct drive *d, uint32_t i, bool admitted) {
    struct open_events *o = &d->open[d->items[i].queue / d->tree];
    if (d->items[i].due != 0) {
        sample(&d->event, steady_now(d) - d->items[i].due, 1);
        d->items[i].due = 0;
    }
    for (; admitted && o->n > 0; o->n--) {
        sample(&d->event, steady_now(d) - o->due[o->n - 1], 1);
    }
}

/* The actions of a call, counted; how many decisions they were. */
static size_t count(struct drive *d, const struct engine_action *a, size_t n) {
    uint64_t refused = d->f.refusals, won = d->f.admissions + d->f.preemptions;
    const struct verdict *last = NULL;
    for (size_t k = 0; k < n; k++) {
        if (d->open != NULL && a[k].type != ACTION_PREEMPT) {
            steady_answer(d, item_of(a[k].uid), a[k].type == ACTION_ADMIT);
        }
        switch (a[k].type) {
        case ACTION_ADMIT:
            d->f.admissions++;
            holder_add(d, item_of(a[k].uid));
            break;
        case ACTION_PREEMPT:
            d->f.preemptions++;
            d->victims[d->n_victims++] = item_of(a[k].uid);
            break;
        case ACTION_PEND: /* those parked beside it have the same verdict */
            d->f.refusals += a[k].verdict != last;
            last = a[k].verdict;
            break;
        }
    }
    won = d->f.admissions + d->f.preemptions - won;
    refused = d->f.refusals - refused;
    if (d->event_at != 0 && (won > 0 || (d->any && refused > 0))) {
        sample(&d->event, drive_now() - d->event_at, 1);
        d->event_at = 0;
    }
    return won + refused;
}

static void return_victims(struct drive *d) {
    for (size_t i = 0; i < d->n_victims; i++) {
        holder_del(d, d->victims[i]);
        give(d, d->victims[i]);
    }
    d->n_victims = 0;
}

bool drive_run(struct drive *d) {
    const struct engine_action *a = NULL;
    size_t n = 0;
    bool more = false;
    int64_t wake, start = drive_now();
    int r = engine_run(d->e, d->now_ns, ENGINE_BUDGET, &a, &n, &more, &wake);
    int64_t took = drive_now() - start;
    check("run", r);
    d->now_ns += 1000000;
    d->spent += took;
    d->f.longest = took > d->f.longest ? took : d->f.longest;
    size_t decided = count(d, a, n);
    if (decided > 0) {
        sample(&d->each, took / (int64_t)decided, decided);
    }
    more = more || d->n_victims > 0;
    return_victims(d);
    return more;
}

uint64_t drive_decisions(const struct drive *d) {
    return d->f.admissions + d->f.preemptions + d->f.refusals;
}

void drive_quiet(struct drive *d, uint64_t most) {
    uint64_t before = drive_decisions(d);
    while (drive_run(d) && drive_decisions(d) - before < most) {
    }
    d->event_at = 0;
}

void drive_reset(struct drive *d) {
    d->f = (struct figures){.bytes = d->f.bytes, .floor = d->f.floor};
    d->spent = 0;
    d->each.n = d->event.n = 0;
}

void drive_steady(struct drive *d, size_t trees, uint32_t queues_in_tree) {
    d->open = memory(trees, sizeof(*d->open));
    d->tree = queues_in_tree;
    d->n_trees = trees;
    d->idle = 0;
}

void drive_steady_wait(struct drive *d, int64_t due) {
    while (steady_now(d) < due) {
        if (!drive_run(d) && steady_now(d) < due) {
            d->idle += due - steady_now(d);
            for (size_t i = 0; i < d->n_trees; i++) {
                d->open[i].n = 0; /* nobody fits in what they left */
            }
        }
    }
}

void drive_steady_finish(struct drive *d, uint32_t item, int64_t due) {
    struct open_events *o = &d->open[d->items[item].queue / d->tree];
    if (o->n < OPEN_MAX) {
        o->due[o->n++] = due;
    }
    drive_finish(d, item);
}

void drive_steady_put(struct drive *d, uint32_t queue, uint32_t ask, int32_t priority,
                      int64_t due) {
    uint32_t i = drive_put(d, queue, ask, priority);
    d->items[i].due = due;
}

void drive_end(struct drive *d, size_t size) {
    struct figures *f = &d->f;
    f->size = size;
    f->seconds = (double)d->spent / 1e9;
    f->resident = drive_resident();
    if (d->each.n > 0) {
        f->each_max = measure_percentile(d->each.v, d->each.n, 1);
        f->each_50 = measure_percentile(d->each.v, d->each.n, 0.5);
        f->each_99 = measure_percentile(d->each.v, d->each.n, 0.99);
    }
    if (d->event.n > 0) {
        f->event_max = measure_percentile(d->event.v, d->event.n, 1);
        f->event_50 = measure_percentile(d->event.v, d->event.n, 0.5);
        f->event_99 = measure_percentile(d->event.v, d->event.n, 0.99);
    }
}

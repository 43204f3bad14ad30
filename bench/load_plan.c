/* load_plan: see load_plan.h. The file is read by the simulator's own reader. */
#include "load_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load_file.h"

enum { FILE_BYTES = 1 << 20, ARENA = 16 << 20 };

struct builder {
    struct plan *plan;
    int64_t cohort; /* of the last queue, in its class */
    const struct load_cohorts *cohorts;
    size_t cap_items;
    struct buf name;
};

static void *room(void *v, size_t n, size_t *cap, size_t size) {
    if (n < *cap) {
        return v;
    }
    *cap = *cap ? *cap * 2 : 64;
    v = realloc(v, *cap * size);
    if (v == NULL) {
        fprintf(stderr, "bench-load: out of memory\n");
        exit(1);
    }
    return v;
}

static void text(char *out, size_t cap, struct str s) {
    snprintf(out, cap, "%.*s", STR_ARG(s));
}

static void quantity(char *out, size_t cap, struct quantity q) {
    char room_[QUANTITY_TEXT_MAX];
    text(out, cap, quantity_text(q, room_));
}

static size_t class_of(struct plan *p, const struct load_class *from) {
    struct plan_class c = {.runtime_ns = from->runtime_ms * 1000000,
                           .priority = from->priority,
                           .pods = from->pods,
                           .milli = quantity_milli(from->request) * from->pods};
    text(c.name, sizeof(c.name), from->name);
    quantity(c.request, sizeof(c.request), from->request);
    for (size_t i = 0; i < p->n_classes; i++) {
        const struct plan_class *x = &p->classes[i];
        if (strcmp(x->name, c.name) == 0 && strcmp(x->request, c.request) == 0 &&
            x->runtime_ns == c.runtime_ns && x->priority == c.priority && x->pods == c.pods) {
            return i;
        }
    }
    size_t cap = p->n_classes;
    p->classes = room(p->classes, p->n_classes, &cap, sizeof(c));
    p->classes[p->n_classes] = c;
    return p->n_classes++;
}

static void add_workloads(struct builder *b, const struct load_set *set, size_t nth) {
    struct plan *p = b->plan;
    struct load_stream s = {.set = set, .set_index = nth};
    for (const struct load_class *c; (buf_reset(&b->name), c = load_stream_next(&s, &b->name));) {
        struct plan_item i = {.queue = (uint32_t)p->n_queues - 1,
                              .class = (uint32_t)class_of(p, c),
                              .order = (uint32_t)p->n_items,
                              .due_ns = s.due_ms * 1000000};
        text(i.name, sizeof(i.name), buf_view(&b->name));
        p->classes[i.class].n++;
        p->items = room(p->items, p->n_items, &b->cap_items, sizeof(i));
        p->items[p->n_items++] = i;
    }
}

static int add_queue(void *ctx, const struct load_place *at) {
    struct builder *b = ctx;
    struct plan *p = b->plan;
    const struct load_queues *from = at->queues;
    if (b->cohorts != at->cohorts || b->cohort != at->cohort || p->n_cohorts == 0) {
        struct plan_cohort h = {0};
        buf_reset(&b->name);
        load_cohort_name(at, &b->name);
        text(h.name, sizeof(h.name), buf_view(&b->name));
        size_t cap = p->n_cohorts;
        p->cohorts = room(p->cohorts, p->n_cohorts, &cap, sizeof(h));
        p->cohorts[p->n_cohorts++] = h;
        b->cohorts = at->cohorts;
        b->cohort = at->cohort;
    }
    struct plan_queue q = {.cohort = p->n_cohorts - 1,
                           .nominal_milli = quantity_milli(from->nominal),
                           .borrowing_milli = from->limited ? quantity_milli(from->borrowing) : -1};
    buf_reset(&b->name);
    load_queue_name(at, &b->name);
    text(q.name, sizeof(q.name), buf_view(&b->name));
    quantity(q.nominal, sizeof(q.nominal), from->nominal);
    if (from->limited) {
        quantity(q.borrowing, sizeof(q.borrowing), from->borrowing);
    }
    text(q.reclaim, sizeof(q.reclaim), from->reclaim);
    text(q.within, sizeof(q.within), from->within);
    p->cohorts[q.cohort].nominal_milli += q.nominal_milli;
    p->queues[p->n_queues++] = q;
    for (size_t i = 0; i < from->n_sets; i++) {
        add_workloads(b, &from->sets[i], i);
    }
    return 0;
}

static int by_due(const void *a, const void *b) {
    const struct plan_item *x = a, *y = b;
    if (x->due_ns != y->due_ns) {
        return x->due_ns < y->due_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

int plan_read(const char *path, struct plan *ret) {
    static char bytes[FILE_BYTES];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
    if (f) {
        fclose(f);
    }
    struct arena a;
    struct err err = {.text = "not readable, empty, or too large"};
    struct load_file l;
    struct builder b = {.plan = ret};
    int code = -1;
    *ret = (struct plan){0};
    arena_init(&a, ARENA);
    buf_init(&b.name, 0);
    if (n > 0 && n < sizeof(bytes) && load_file_read(&a, str_from(bytes, n), &l, &err) == 0) {
        ret->queues = calloc((size_t)l.total_queues, sizeof(*ret->queues));
        code = ret->queues ? load_each_queue(&l, add_queue, &b) : -1;
        ret->topology = l.topology;
    }
    buf_release(&b.name);
    arena_release(&a);
    if (code != 0 || ret->n_items == 0) {
        fprintf(stderr, "bench-load: %s: %s\n", path, code != 0 ? err.text : "no workloads");
        return -1;
    }
    qsort(ret->items, ret->n_items, sizeof(*ret->items), by_due);
    return 0;
}

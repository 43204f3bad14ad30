/* report: see report.h. */
#include "sim/report.h"

#include <stdlib.h>

#include "wire/json/json.h"

static double seconds(int64_t ns) {
    return (double)ns / NS_PER_SEC;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double rank(const struct ns_vec *v, size_t percent) {
    size_t at = (v->n * percent + 99) / 100; /* nearest rank, from 1 */
    return seconds(v->v[at ? at - 1 : 0]);
}

void report_times(struct ns_vec *v, struct report_times *ret) {
    double sum = 0;
    *ret = (struct report_times){.n = v->n};
    if (v->n == 0) {
        return;
    }
    qsort(v->v, v->n, sizeof *v->v, ascending);
    for (size_t i = 0; i < v->n; i++) {
        sum += seconds(v->v[i]);
    }
    ret->mean = sum / (double)v->n;
    ret->p50 = rank(v, 50);
    ret->p95 = rank(v, 95);
    ret->p99 = rank(v, 99);
    ret->max = seconds(v->v[v->n - 1]);
}

void report_group(struct ledger_group *g, struct report_group *ret) {
    *ret = (struct report_group){.name = g->name,
                                 .submitted = g->submitted,
                                 .started = g->started,
                                 .finished = g->finished,
                                 .deleted = g->deleted,
                                 .left = g->submitted - g->finished - g->deleted,
                                 .lost_s = g->lost_s};
    for (size_t i = 0; i < LEDGER_REASONS; i++) {
        ret->evicted += g->evictions[i];
    }
    report_times(&g->waits, &ret->wait);
    report_times(&g->runs, &ret->run);
}

void report_use(const struct ledger *l, const struct ledger_use *u, size_t pair,
                struct report_use *ret) {
    double time_s = seconds(ledger_now(l)), unit = str_is(l->resources[pair], "cpu") ? 1000 : 1;
    *ret = (struct report_use){.flavor = l->flavors[pair],
                               .resource = l->resources[pair],
                               .peak = (double)u->peak / unit,
                               .share = u->room > 0 ? u->area / u->room : 0};
    if (time_s > 0) {
        ret->nominal = u->room / time_s / unit;
        ret->mean = u->area / time_s / unit;
    }
}

void report_run(struct sim *s, enum sim_end end, const struct sim_options *o,
                struct report_run *ret) {
    struct ledger *l = sim_ledger(s);
    const struct map_entry *e;
    double area = 0, time_s = 0;
    for (size_t i = 0; (e = map_next(&l->trees, &i));) {
        const struct ledger_tree *t = e->value;
        area += t->area;
        time_s += t->time_s;
    }
    *ret = (struct report_run){.end = end,
                               .time_s = seconds(sim_now(s)),
                               .makespan_s = seconds(l->last_end),
                               .fairness = time_s > 0 ? area / time_s : -1,
                               .queues = map_count(&l->queues)};
    if (l->edits == 0 && end == SIM_DONE) {
        ret->floor_s = seconds(ledger_floor(l, o->startup_ns, false));
        ret->floor_lost_s = seconds(ledger_floor(l, o->startup_ns, true));
    }
}

static int by_name(const void *a, const void *b) {
    return str_cmp((*(struct ledger_queue *const *)a)->group.name,
                   (*(struct ledger_queue *const *)b)->group.name);
}

static int class_by_name(const void *a, const void *b) {
    return str_cmp((*(struct ledger_group *const *)a)->name,
                   (*(struct ledger_group *const *)b)->name);
}

static void **sorted(struct ledger *l, const struct map *m,
                     int (*cmp)(const void *, const void *)) {
    const struct map_entry *e;
    void **v = ARENA_ARRAY(&l->arena, void *, map_count(m) + 1);
    size_t n = 0;
    for (size_t i = 0; v && (e = map_next(m, &i));) {
        v[n++] = e->value;
    }
    if (n > 1) {
        qsort(v, n, sizeof *v, cmp);
    }
    return v;
}

struct ledger_queue *report_queue(struct ledger *l, size_t i) {
    if (l->by_name == NULL || i == 0) {
        l->by_name = sorted(l, &l->queues, by_name);
    }
    return l->by_name && i < map_count(&l->queues) ? l->by_name[i] : NULL;
}

struct ledger_group *report_class(struct ledger *l, size_t i) {
    if (l->classes_by_name == NULL || i == 0) {
        l->classes_by_name = sorted(l, &l->classes, class_by_name);
    }
    return l->classes_by_name && i < map_count(&l->classes) ? l->classes_by_name[i] : NULL;
}

double report_share(const struct ledger *l, const struct ledger_queue *q) {
    double time_s = seconds(ledger_now(l));
    return time_s > 0 ? 100 * q->share_area / time_s : 0;
}

static void why(struct sim *s, const struct ledger_work *w, struct arena *a,
                struct report_left *ret) {
    const struct object *o = mirror_get(sim_mirror(s), sim_ledger(s)->workloads, w->ns, w->name);
    yyjson_doc *d;
    yyjson_val *c;
    size_t i, n;
    if (o == NULL || object_tree(o, a, &d, NULL) != 0) {
        return;
    }
    yyjson_val *conditions = json_path(yyjson_doc_get_root(d), "status.conditions");
    yyjson_arr_foreach(conditions, i, n, c) {
        if (str_is(json_str(json_get(c, STR("type"))), "QuotaReserved")) {
            ret->reason = json_str(json_get(c, STR("reason")));
            ret->message = json_str(json_get(c, STR("message")));
        }
    }
}

bool report_left(struct sim *s, size_t *at, struct arena *a, struct report_left *ret) {
    static const char *const states[] = {"Waits", "Holds", "Runs"};
    const struct ledger *l = sim_ledger(s);
    while (*at < l->in_order.n && l->in_order.v[*at]->state == LEDGER_OVER) {
        ++*at;
    }
    if (*at == l->in_order.n) {
        return false;
    }
    const struct ledger_work *w = l->in_order.v[(*at)++];
    *ret = (struct report_left){.ns = w->ns, .name = w->name, .state = str_of(states[w->state])};
    why(s, w, a, ret);
    return true;
}

const char *report_end_text(enum sim_end end) {
    static const char *const texts[] = {"Done", "TimeUp", "Stuck"};
    return texts[end];
}

/* ---- JSON ---- */

static void times_json(struct buf *b, const char *name, const struct report_times *t) {
    buf_f(b,
          ",\"%s\":{\"count\":%zu,\"mean\":%.3f,\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,"
          "\"max\":%.3f}",
          name, t->n, t->mean, t->p50, t->p95, t->p99, t->max);
}

static void group_json(struct ledger *l, struct ledger_group *g, struct buf *b) {
    struct report_group r;
    const char *comma = "";
    report_group(g, &r);
    buf_c(b, "{\"name\":");
    buf_json(b, r.name);
    buf_f(b,
          ",\"submitted\":%lld,\"started\":%lld,\"finished\":%lld,\"deleted\":%lld,"
          "\"unfinished\":%lld",
          (long long)r.submitted, (long long)r.started, (long long)r.finished, (long long)r.deleted,
          (long long)r.left);
    times_json(b, "waitSeconds", &r.wait);
    times_json(b, "runSeconds", &r.run);
    buf_c(b, ",\"evictions\":{");
    for (size_t i = 0; i < l->n_reasons; i++) {
        if (g->evictions[i]) {
            buf_c(b, comma);
            buf_json(b, l->reasons[i]);
            buf_f(b, ":%lld", (long long)g->evictions[i]);
            comma = ",";
        }
    }
    buf_f(b, "},\"lostSeconds\":%.3f", r.lost_s);
}

static void uses_json(const struct ledger *l, const struct ledger_use *u, struct buf *b) {
    const char *comma = "";
    buf_c(b, ",\"use\":[");
    for (size_t p = 0; p < l->n_pairs; p++) {
        struct report_use r;
        report_use(l, &u[p], p, &r);
        if (r.nominal <= 0 && r.peak <= 0) {
            continue;
        }
        buf_f(b, "%s{\"flavor\":", comma);
        buf_json(b, r.flavor);
        buf_c(b, ",\"resource\":");
        buf_json(b, r.resource);
        buf_f(b, ",\"nominal\":%.3f,\"mean\":%.3f,\"peak\":%.3f,\"utilisation\":%.4f}", r.nominal,
              r.mean, r.peak, r.share);
        comma = ",";
    }
    buf_ch(b, ']');
}

void report_json(struct sim *s, enum sim_end end, const struct sim_options *o, struct buf *out) {
    struct ledger *l = sim_ledger(s);
    struct ledger_queue *q;
    struct ledger_group *c;
    struct report_run r;
    report_run(s, end, o, &r);
    buf_f(out, "{\"end\":\"%s\",\"seed\":%llu,\"virtualSeconds\":%.3f,\"makespanSeconds\":%.3f",
          report_end_text(end), (unsigned long long)o->seed, r.time_s, r.makespan_s);
    if (r.floor_s > 0) {
        buf_f(out, ",\"floorSeconds\":%.3f,\"floorWithLostSeconds\":%.3f", r.floor_s,
              r.floor_lost_s);
    }
    if (r.fairness >= 0) {
        buf_f(out, ",\"fairness\":%.4f", r.fairness);
    }
    buf_f(out, ",\"writes\":%llu,\"all\":", (unsigned long long)sim_writes(s));
    group_json(l, &l->all, out);
    uses_json(l, l->use, out);
    buf_c(out, "},\"queues\":[");
    for (size_t i = 0; (q = report_queue(l, i)); i++) {
        buf_c(out, i ? "," : "");
        group_json(l, &q->group, out);
        buf_f(out, ",\"share\":%.4f", report_share(l, q) / 100);
        uses_json(l, q->use, out);
        buf_ch(out, '}');
    }
    buf_c(out, "],\"classes\":[");
    for (size_t i = 0; (c = report_class(l, i)); i++) {
        buf_c(out, i ? "," : "");
        group_json(l, c, out);
        buf_ch(out, '}');
    }
    buf_ch(out, ']');
    if (sim_story(s)) {
        story_json(sim_story(s), sim_mirror(s), out);
    }
    buf_c(out, "}\n");
}

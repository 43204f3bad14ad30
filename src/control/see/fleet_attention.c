/*
 * fleet_attention: what somebody should look at, worst first. Each entry names its object, and is shown to who may see
 * that. Workloads are searched at most every few seconds, and only so many of them.
 */
#include "control/see/fleet_private.h"

#include "base/mem.h"
#include "wire/text/time.h"

enum { VISITED_MAX = 20000, STUCK_MAX = FLEET_ATTENTION_MAX / 2 };
static const int64_t SEARCH_NS = 10 * NS_PER_SEC;
static const int64_t LONG_NS = 30 * 60 * NS_PER_SEC;   /* without quota */
static const int64_t EVICTED_NS = 5 * 60 * NS_PER_SEC; /* evicted, and not back */

struct attention_list {
    struct fleet_attention_view *v;
    size_t n;
};

static void add(struct attention_list *l, const char *severity, const char *kind, struct str ns,
                struct str name, struct str text) {
    if (l->v && l->n < FLEET_ATTENTION_MAX) {
        l->v[l->n++] =
            (struct fleet_attention_view){str_of(severity), text, str_of(kind), ns, name};
    }
}

/* ---- nodes and cards ---- */

static void add_node(struct attention_list *l, const struct fleet_node *n, struct arena *a) {
    struct str none = {0};
    if (!n->ready) {
        add(l, "danger", "Node", none, n->name,
            arena_f(a, "node %.*s is not ready", STR_ARG(n->name)));
    } else if (n->cordoned) {
        add(l, "info", "Node", none, n->name,
            arena_f(a, "node %.*s takes no new pods (cordoned)", STR_ARG(n->name)));
    }
    for (size_t i = 0; i < n->inv.n; i++) {
        const struct gpu_card *g = &n->inv.gpus[i];
        if (!g->healthy) {
            add(l, "danger", "Node", none, n->name,
                arena_f(a, "GPU %d of node %.*s is out of service%s%.*s", g->index,
                        STR_ARG(n->name), g->trouble.n ? ": " : "", STR_ARG(g->trouble)));
        }
    }
    for (size_t i = 0; i < n->n_amounts; i++) {
        const struct fleet_amount *v = &n->amounts[i];
        if (v->allocatable < v->capacity) {
            add(l, "warning", "Node", none, n->name,
                arena_f(a, "node %.*s has %lld of its %lld %.*s out of service", STR_ARG(n->name),
                        (long long)(v->capacity - v->allocatable), (long long)v->capacity,
                        STR_ARG(v->resource)));
        }
    }
}

static void add_nodes(struct attention_list *l, struct fleet *f, struct arena *a) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        const struct fleet_node *n = e->value;
        if (n->inv.n || n->n_amounts) {
            add_node(l, n, a);
        }
    }
}

/* ---- bookings ---- */

static void add_bookings(struct attention_list *l, struct fleet *f, const struct virtual_ask *q,
                         struct arena *a) {
    struct fleet_viewer v;
    size_t at = 0;
    if (map_count(&f->bookings) == 0) {
        return;
    }
    fleet_viewer_init(&v, q, "berth.dev", "reservations", a);
    for (const struct map_entry *e; (e = map_next(&f->bookings, &at));) {
        const struct fleet_booking *b = e->value;
        bool asks = b->phase == FLEET_ASKS, lacks = b->phase == FLEET_DEGRADED;
        if ((!asks && !lacks) || !fleet_may(&v, b->ns)) {
            continue;
        }
        add(l, lacks ? "danger" : "info", "Reservation", b->ns, b->name,
            lacks ? arena_f(a, "booking %.*s lacks what was booked%s%.*s", STR_ARG(b->name),
                            b->message.n ? ": " : "", STR_ARG(b->message))
                  : arena_f(a, "booking %.*s%s%.*s waits for approval", STR_ARG(b->name),
                            b->by.n ? " of " : "", STR_ARG(b->by)));
    }
    fleet_viewer_release(&v);
}

/* ---- queues ---- */

static bool of_booking(const struct fleet *f, struct str queue) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->bookings, &at));) {
        if (str_eq(((const struct fleet_booking *)e->value)->queue, queue)) {
            return true;
        }
    }
    return false;
}

/* Message of condition Active when it is False. */
static struct str inactive(struct fleet *f, struct str queue, struct arena *a) {
    const struct object *o =
        mirror_get(f->c->env->mirror, f->c->base.kinds[QK_CLUSTER_QUEUE], (struct str){0}, queue);
    yyjson_doc *doc;
    if (o == NULL || object_tree(o, a, &doc, NULL) != 0) {
        return (struct str){0};
    }
    yyjson_val *list = json_path(yyjson_doc_get_root(doc), "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), "Active") && str_is(json_str_at(c, "status"), "False")) {
            return json_str_at(c, "message");
        }
    }
    return (struct str){0};
}

static void add_queues(struct attention_list *l, struct fleet *f, const struct virtual_ask *q,
                       struct arena *a) {
    struct str none = {0};
    size_t at = 0;
    if (!q->may(q, "list", "kueue.x-k8s.io", "clusterqueues", none, none)) {
        return;
    }
    for (const struct map_entry *e;
         l->n < FLEET_ATTENTION_MAX && (e = map_next(&f->c->clusters, &at));) {
        const struct cluster_state *s = e->value;
        bool works = !s->exists || (!s->stopped && queue_cluster_active(f->c, s->name));
        struct str why = works || of_booking(f, s->name) ? none : inactive(f, s->name, a);
        if (why.n) {
            add(l, s->stopped ? "info" : "warning", "ClusterQueue", none, s->name,
                arena_f(a, "queue %.*s admits nothing: %.*s", STR_ARG(s->name), STR_ARG(why)));
        }
    }
}

/* ---- Workloads ---- */

static void stuck_forget(struct fleet *f) {
    for (size_t i = 0; i < f->n_stuck; i++) {
        mem_free(f->stuck[i].ns);
        mem_free(f->stuck[i].name);
        mem_free(f->stuck[i].text);
    }
    f->n_stuck = 0;
}

void fleet_attention_release(struct fleet *f) {
    stuck_forget(f);
}

/* "40 minutes", "3 hours", "2 days" */
static struct str long_text(struct arena *a, int64_t ns) {
    long long minutes = ns / (60 * NS_PER_SEC);
    return minutes < 120         ? arena_f(a, "%lld minutes", minutes)
           : minutes < 48LL * 60 ? arena_f(a, "%lld hours", minutes / 60)
                                 : arena_f(a, "%lld days", minutes / 60 / 24);
}

static yyjson_val *condition_of(yyjson_val *tree, const char *type) {
    yyjson_val *list = json_path(tree, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            return c;
        }
    }
    return NULL;
}

static void stuck_note(struct fleet *f, const struct object *o, int64_t now) {
    yyjson_doc *doc;
    int64_t since;
    struct arena *a = &f->scratch;
    arena_reset(a);
    if (object_tree(o, a, &doc, NULL) != 0) {
        return;
    }
    yyjson_val *tree = yyjson_doc_get_root(doc);
    yyjson_val *evicted = condition_of(tree, "Evicted"),
               *waits = condition_of(tree, "QuotaReserved");
    bool out = str_is(json_str_at(evicted, "status"), "True");
    yyjson_val *c = out ? evicted : waits;
    if (time_parse(json_str_at(c, "lastTransitionTime"), &since, NULL) != 0) {
        since = o->created_ns;
    }
    since = out ? since : o->created_ns;
    struct str why = json_str_at(c, "message"), age = long_text(a, now - since);
    if (now - since < (out ? EVICTED_NS : LONG_NS)) {
        return;
    }
    struct str text =
        arena_f(a, out ? "%.*s was evicted %.*s ago%s%.*s" : "%.*s waits for %.*s%s%.*s",
                STR_ARG(o->name), STR_ARG(age), why.n ? ": " : "", STR_ARG(why));
    struct fleet_stuck *k = &f->stuck[f->n_stuck];
    *k = (struct fleet_stuck){mem_cstr(o->ns), mem_cstr(o->name), mem_cstr(text), out};
    f->n_stuck++;
}

/* Waits, and is old enough to be worth reading. */
static bool may_be_stuck(const struct queue_work *q, const struct object *o, int64_t now) {
    bool waits = q->state == QW_PENDING || q->state == QW_IDLE;
    return waits && o && !str_contains(o->json, STR("\"type\":\"Finished\"")) &&
           (now - o->created_ns >= LONG_NS || (now - o->created_ns >= EVICTED_NS &&
                                               str_contains(o->json, STR("\"type\":\"Evicted\""))));
}

static void stuck_search(struct fleet *f) {
    int64_t mono = clock_mono(f->c->env->clock), now = clock_wall(f->c->env->clock);
    size_t at = 0, visited = 0;
    if (f->stuck_ns && mono - f->stuck_ns < SEARCH_NS) {
        return;
    }
    f->stuck_ns = mono ? mono : 1;
    stuck_forget(f);
    for (const struct map_entry *e; (e = map_next(&f->c->locals, &at));) {
        const struct local_state *l = e->value;
        for (const struct queue_work *q = l->works; q; q = q->next) {
            if (f->n_stuck == STUCK_MAX || ++visited > VISITED_MAX) {
                return;
            }
            const struct object *o = mirror_by_uid(f->c->env->mirror, q->uid);
            if (may_be_stuck(q, o, now)) {
                stuck_note(f, o, now);
            }
        }
    }
}

static void add_stuck(struct attention_list *l, struct fleet *f, const struct virtual_ask *q,
                      struct arena *a) {
    struct fleet_viewer v;
    stuck_search(f);
    fleet_viewer_init(&v, q, "kueue.x-k8s.io", "workloads", a);
    for (size_t i = 0; i < f->n_stuck; i++) {
        const struct fleet_stuck *k = &f->stuck[i];
        if (k->ns && k->name && k->text && fleet_may(&v, str_of(k->ns))) {
            add(l, "warning", "Workload", str_of(k->ns), str_of(k->name), str_of(k->text));
        }
    }
    fleet_viewer_release(&v);
}

void fleet_attention(struct fleet *f, const struct virtual_ask *q, struct arena *a,
                     struct fleet_view *to) {
    struct attention_list l = {
        .v = ARENA_ARRAY(a, struct fleet_attention_view, FLEET_ATTENTION_MAX)};
    add_nodes(&l, f, a);
    add_bookings(&l, f, q, a);
    add_queues(&l, f, q, a);
    add_stuck(&l, f, q, a);
    to->attention.v = l.v;
    to->attention.n = l.n;
}

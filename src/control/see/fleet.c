/* fleet: see fleet.h. Here: its life, and Fleet as it is written. */
#include "control/see/fleet_private.h"

#include "api/schema/codec_encode.h"
#include "base/mem.h"

static const size_t MEMORY_MAX = (size_t)512 << 20;

/* ---- who may see what ---- */

void fleet_viewer_init(struct fleet_viewer *v, const struct virtual_ask *q, const char *group,
                       const char *resource, struct arena *a) {
    struct str all = {0};
    *v = (struct fleet_viewer){.q = q, .group = group, .resource = resource, .arena = a};
    v->all = q->may(q, "list", group, resource, all, all);
}

void fleet_viewer_release(struct fleet_viewer *v) {
    map_release(&v->known);
}

bool fleet_may(struct fleet_viewer *v, struct str ns) {
    static const char yes[] = "y", no[] = "n";
    const char *known = v->all ? yes : map_get(&v->known, ns);
    if (known == NULL && ns.n) {
        known = v->q->may(v->q, "list", v->group, v->resource, ns, (struct str){0}) ? yes : no;
        struct str key = arena_str(v->arena, ns);
        if (key.n) {
            (void)map_put(&v->known, key, (void *)known, NULL); /* asked again, at worst */
        }
    }
    return known == yes;
}

/* ---- types ---- */

static void set_types(const struct fleet_sums *s, struct arena *a, struct fleet_view *to) {
    to->types.v = ARENA_ARRAY(a, struct fleet_type_view, s->n + 1);
    for (size_t i = 0; to->types.v && i < s->n; i++) {
        const struct fleet_type *t = &s->v[i];
        to->types.v[to->types.n++] = (struct fleet_type_view){
            .flavor = t->flavor, .product = t->product, .resources = {t->v, t->n}};
    }
}

/* ---- cards ---- */

struct fleet_page {
    struct fleet *f;
    struct fleet_viewer viewer;
    struct arena *a;
};

/* -1: not known. */
static struct opt_double known(int32_t v, int32_t per) {
    return (struct opt_double){v >= 0, (double)((v + per / 2) / per)};
}

/* The text of an annotation whose value has no escapes (a name). */
static struct str note_of(const struct object *o, const char *key) {
    const char *at = memmem(o->json.p, o->json.n, key, strlen(key));
    struct str rest = at ? str_skip(o->json, (size_t)(at - o->json.p) + strlen(key)) : o->json;
    ptrdiff_t end = at ? str_find(rest, '"') : -1;
    return end > 0 ? str_head(rest, (size_t)end) : (struct str){0};
}

static void tell_holder(struct fleet_page *p, struct str uid, struct fleet_instance_view *to) {
    const struct object *pod = mirror_by_uid(p->f->c->env->mirror, uid);
    if (pod && fleet_may(&p->viewer, pod->ns)) {
        to->namespace = pod->ns;
        to->pod = pod->name;
        to->workload = note_of(pod, "\"kueue.x-k8s.io/workload\":\"");
    }
}

static struct str profile_text(const struct gpu_card *g, int32_t id) {
    for (size_t i = 0; i < g->n_profiles; i++) {
        if (g->profiles[i].id == id) {
            return g->profiles[i].name;
        }
    }
    return (struct str){0};
}

static void set_instances(struct fleet_page *p, const struct gpu_card *g,
                          struct fleet_card_view *to) {
    struct fleet_instance_view *v =
        ARENA_ARRAY(p->a, struct fleet_instance_view, g->n_instances + 1);
    size_t n = 0;
    if (v && g->pod_uid.n) {
        v[n].size = g->slices;
        v[n].used = true;
        v[n].utilization = known(g->utilization_pct, 1);
        tell_holder(p, g->pod_uid, &v[n++]);
    }
    for (size_t i = 0; v && i < g->n_instances && n <= g->n_instances; i++) {
        const struct gpu_instance *in = &g->instances[i];
        v[n] = (struct fleet_instance_view){.profile = profile_text(g, in->profile_id),
                                            .start = in->start,
                                            .size = in->size,
                                            .used = in->pod_uid.n > 0,
                                            .utilization = known(in->utilization_pct, 1)};
        if (in->pod_uid.n) {
            tell_holder(p, in->pod_uid, &v[n]);
        }
        n++;
    }
    to->instances.v = v;
    to->instances.n = n;
}

static const char *health_of(const struct fleet_node *n, const struct gpu_card *g) {
    return !n->ready ? "Unknown" : g->healthy ? "Healthy" : "Unhealthy";
}

static struct str trouble_of(const struct fleet_node *n, const struct gpu_card *g) {
    return g->trouble.n  ? g->trouble
           : !n->ready   ? STR("its node is not ready")
           : n->cordoned ? STR("its node takes no new pods (cordoned)")
                         : (struct str){0};
}

/* MiB as GiB, with one digit behind the point. */
static struct opt_double known_gib(int32_t mib) {
    return (struct opt_double){mib >= 0, (double)(((int64_t)mib * 10 + 512) / 1024) / 10};
}

static void set_card(struct fleet_page *p, const struct fleet_node *n, const struct gpu_card *g,
                     struct fleet_card_view *to) {
    *to = (struct fleet_card_view){.node = n->name,
                                   .index = g->index,
                                   .uuid = g->uuid,
                                   .flavor = n->flavor,
                                   .model = g->model,
                                   .memory_gib = known(g->memory_mib, 1024),
                                   .slices = g->slices,
                                   .mig_enabled = g->mig_enabled,
                                   .health = str_of(health_of(n, g)),
                                   .trouble = trouble_of(n, g),
                                   .temperature = known(g->temperature_c, 1),
                                   .power = known(g->power_mw, 1000),
                                   .utilization = known(g->utilization_pct, 1),
                                   .memory_used = known_gib(g->memory_used_mib)};
    set_instances(p, g, to);
}

static int by_name(const void *a, const void *b) {
    const struct fleet_node *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

static int set_cards(struct fleet_page *p, struct str node, struct fleet_view *to) {
    struct fleet *f = p->f;
    const struct fleet_node **v =
        ARENA_ARRAY(p->a, const struct fleet_node *, map_count(&f->nodes) + 1);
    size_t n = 0, at = 0, cards = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        v[n] = e->value;
        n += v[n]->told && v[n]->inv.n > 0 && (node.n == 0 || str_eq(node, v[n]->name));
    }
    qsort(v, n, sizeof *v, by_name);
    for (size_t i = 0; i < n; i++) {
        cards += v[i]->inv.n;
    }
    to->cards.v = ARENA_ARRAY(p->a, struct fleet_card_view, cards + 1);
    for (size_t i = 0; to->cards.v && i < n; i++) {
        for (size_t k = 0; k < v[i]->inv.n; k++) {
            set_card(p, v[i], &v[i]->inv.gpus[k], &to->cards.v[to->cards.n++]);
        }
    }
    return to->cards.v ? 0 : ERR_NOMEM;
}

/* ---- the answer ---- */

static int fleet_write(struct fleet *f, const struct virtual_ask *q, struct arena *a,
                       struct buf *out) {
    struct fleet_sums sums;
    struct fleet_page p = {.f = f, .a = a};
    struct meta meta = {.name = STR("current")};
    struct fleet_view v = {.metadata = &meta, .computed_ns = clock_wall(f->c->env->clock)};
    int r = fleet_sum(f, a, &sums);
    if (r == 0) {
        set_types(&sums, a, &v);
        fleet_viewer_init(&p.viewer, q, "", "pods", a);
        r = set_cards(&p, virtual_param(q, "node"), &v);
        fleet_viewer_release(&p.viewer);
        fleet_attention(f, q, a, &v);
    }
    r = r ? r : arena_ok(a);
    if (r == 0) {
        codec_list_object(kind_by_name(STR("berth.dev"), STR("Fleet")), &v, out);
    }
    fleet_sums_release(&sums);
    return r;
}

static int fleet_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                     void *ctx, struct virtual_call **ret, struct err *err) {
    struct fleet *f = (struct fleet *)((char *)s - offsetof(struct fleet, current));
    struct arena a;
    struct buf b;
    (void)ret; /* answered at once */
    if (q->name.n && !str_is(q->name, "current")) {
        return err_set(err, ERR_NOT_FOUND,
                       "fleets.berth.dev \"%.*s\" not found: there is one, "
                       "\"current\"",
                       STR_ARG(q->name));
    }
    arena_init(&a, MEMORY_MAX);
    buf_init(&b, MEMORY_MAX);
    if (!q->name.n) {
        codec_list_begin("FleetList", STR("berth.dev"), STR("v1alpha1"), &b);
    }
    int r = fleet_write(f, q, &a, &b);
    if (!q->name.n) {
        codec_list_end(&b);
    }
    r = r ? r : buf_ok(&b);
    if (r == 0) {
        done(ctx, 0, buf_view(&b), NULL);
    } else {
        err_set(err, r, "out of memory");
    }
    buf_release(&b);
    arena_release(&a);
    return r;
}

static void cancel(struct virtual_source *s, struct virtual_call *c) {
    (void)s; /* nothing is under way between calls */
    (void)c;
}

/* ---- life ---- */

struct fleet *fleet_new(struct queue_controller *c) {
    struct fleet *f = mem_zalloc(sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->c = c;
    arena_init(&f->scratch, 64 << 20);
    f->current = (struct virtual_source){.group = "berth.dev",
                                         .resource = "fleets",
                                         .subresource = "",
                                         .ask = fleet_ask,
                                         .cancel = cancel};
    f->history = (struct virtual_source){.group = "berth.dev",
                                         .resource = "fleethistories",
                                         .subresource = "",
                                         .ask = fleet_history_ask,
                                         .cancel = cancel};
    if (fleet_records_init(f) != 0 || fleet_history_init(f) != 0) {
        fleet_free(f);
        return NULL;
    }
    if (c->env->virtuals) {
        virtual_add(c->env->virtuals, &f->current);
        virtual_add(c->env->virtuals, &f->history);
    }
    return f;
}

void fleet_free(struct fleet *f) {
    if (f == NULL) {
        return;
    }
    if (f->c->env->virtuals) {
        virtual_remove(f->c->env->virtuals, &f->current);
        virtual_remove(f->c->env->virtuals, &f->history);
    }
    fleet_history_release(f);
    fleet_records_release(f);
    fleet_attention_release(f);
    arena_release(&f->scratch);
    mem_free(f);
}

/* fleet: see fleet.h. Here: its life, and Fleet as it is written. */
#include "control/see/fleet_private.h"

#include "base/mem.h"
#include "wire/text/time.h"

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
    if (!known && ns.n) {
        known = v->q->may(v->q, "list", v->group, v->resource, ns, (struct str){0}) ? yes : no;
        struct str key = arena_str(v->arena, ns);
        if (key.n) {
            (void)map_put(&v->known, key, (void *)known, NULL); /* asked again, at worst */
        }
    }
    return known == yes;
}

/* ---- types ---- */

static void count_write(const struct fleet_count *c, bool first, struct buf *out) {
    buf_c(out, first ? "{\"resource\":" : ",{\"resource\":");
    buf_json(out, c->resource);
    buf_f(out,
          ",\"total\":%lld,\"used\":%lld,\"reserved\":%lld,\"free\":%lld,\"waiting\":%lld,"
          "\"broken\":%lld}",
          (long long)c->total, (long long)c->used, (long long)c->reserved, (long long)c->free,
          (long long)c->waiting, (long long)c->broken);
}

static void types_write(const struct fleet_sums *s, struct buf *out) {
    buf_c(out, "\"types\":[");
    for (size_t i = 0; i < s->n; i++) {
        const struct fleet_type *t = &s->v[i];
        buf_c(out, i ? ",{\"flavor\":" : "{\"flavor\":");
        buf_json(out, t->flavor);
        buf_c(out, ",\"product\":");
        buf_json(out, t->product);
        buf_c(out, ",\"resources\":[");
        for (size_t k = 0; k < t->n; k++) {
            count_write(&t->v[k], k == 0, out);
        }
        buf_c(out, "]}");
    }
    buf_ch(out, ']');
}

/* ---- cards ---- */

struct fleet_page {
    struct fleet *f;
    struct fleet_viewer viewer;
    struct buf *out;
};

static void member(struct buf *b, const char *name, struct str v) {
    if (v.n) {
        buf_f(b, ",\"%s\":", name);
        buf_json(b, v);
    }
}

static void known(struct buf *b, const char *name, int32_t v, int32_t per) {
    if (v >= 0) {
        buf_f(b, ",\"%s\":%d", name, (v + per / 2) / per);
    }
}

/* The text of an annotation whose value has no escapes (a name). */
static struct str note_of(const struct object *o, const char *key) {
    const char *at = memmem(o->json.p, o->json.n, key, strlen(key));
    struct str rest = at ? str_skip(o->json, (size_t)(at - o->json.p) + strlen(key)) : o->json;
    ptrdiff_t end = at ? str_find(rest, '"') : -1;
    return end > 0 ? str_head(rest, (size_t)end) : (struct str){0};
}

static void holder_write(struct fleet_page *p, struct str uid) {
    const struct object *pod = mirror_by_uid(p->f->c->env->mirror, uid);
    if (!pod || !fleet_may(&p->viewer, pod->ns)) {
        return;
    }
    member(p->out, "namespace", pod->ns);
    member(p->out, "pod", pod->name);
    member(p->out, "workload", note_of(pod, "\"kueue.x-k8s.io/workload\":\""));
}

static struct str profile_text(const struct gpu_card *g, int32_t id) {
    for (size_t i = 0; i < g->n_profiles; i++) {
        if (g->profiles[i].id == id) {
            return g->profiles[i].name;
        }
    }
    return (struct str){0};
}

static void instances_write(struct fleet_page *p, const struct gpu_card *g) {
    buf_c(p->out, ",\"instances\":[");
    if (g->pod_uid.n) {
        buf_f(p->out, "{\"profile\":\"\",\"start\":0,\"size\":%d,\"used\":true", g->slices);
        known(p->out, "utilization", g->utilization_pct, 1);
        holder_write(p, g->pod_uid);
        buf_c(p->out, g->n_instances ? "}," : "}");
    }
    for (size_t i = 0; i < g->n_instances; i++) {
        const struct gpu_instance *in = &g->instances[i];
        buf_c(p->out, i ? ",{\"profile\":" : "{\"profile\":");
        buf_json(p->out, profile_text(g, in->profile_id));
        buf_f(p->out, ",\"start\":%d,\"size\":%d,\"used\":%s", in->start, in->size,
              in->pod_uid.n ? "true" : "false");
        known(p->out, "utilization", in->utilization_pct, 1);
        if (in->pod_uid.n) {
            holder_write(p, in->pod_uid);
        }
        buf_ch(p->out, '}');
    }
    buf_ch(p->out, ']');
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
static void known_gib(struct buf *b, const char *name, int32_t mib) {
    if (mib >= 0) {
        int64_t tenths = ((int64_t)mib * 10 + 512) / 1024;
        buf_f(b, ",\"%s\":%lld.%lld", name, (long long)(tenths / 10), (long long)(tenths % 10));
    }
}

static void card_write(struct fleet_page *p, const struct fleet_node *n, const struct gpu_card *g) {
    struct buf *b = p->out;
    buf_c(b, "{\"node\":");
    buf_json(b, n->name);
    buf_f(b, ",\"index\":%d", g->index);
    member(b, "uuid", g->uuid);
    member(b, "flavor", n->flavor);
    member(b, "model", g->model);
    known(b, "memoryGiB", g->memory_mib, 1024);
    buf_f(b, ",\"slices\":%d,\"migEnabled\":%s,\"health\":\"%s\"", g->slices,
          g->mig_enabled ? "true" : "false", health_of(n, g));
    member(b, "trouble", trouble_of(n, g));
    known(b, "temperature", g->temperature_c, 1);
    known(b, "power", g->power_mw, 1000);
    known(b, "utilization", g->utilization_pct, 1);
    known_gib(b, "memoryUsed", g->memory_used_mib);
    instances_write(p, g);
    buf_ch(b, '}');
}

static int by_name(const void *a, const void *b) {
    const struct fleet_node *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

static int cards_write(struct fleet_page *p, struct str node, struct arena *a) {
    struct fleet *f = p->f;
    const struct fleet_node **v =
        ARENA_ARRAY(a, const struct fleet_node *, map_count(&f->nodes) + 1);
    size_t n = 0, at = 0, written = 0;
    if (!v) {
        return ERR_NOMEM;
    }
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        v[n] = e->value;
        n += v[n]->told && v[n]->inv.n > 0 && (node.n == 0 || str_eq(node, v[n]->name));
    }
    qsort(v, n, sizeof *v, by_name);
    buf_c(p->out, ",\"cards\":[");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < v[i]->inv.n; k++) {
            buf_c(p->out, written++ ? "," : "");
            card_write(p, v[i], &v[i]->inv.gpus[k]);
        }
    }
    buf_ch(p->out, ']');
    return 0;
}

/* ---- the answer ---- */

static int fleet_write(struct fleet *f, const struct virtual_ask *q, struct arena *a,
                       struct buf *out) {
    struct fleet_sums sums;
    struct fleet_page p = {.f = f, .out = out};
    char text[TIME_TEXT_MAX];
    int r = fleet_sum(f, a, &sums);
    if (r == 0) {
        buf_f(out,
              "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Fleet\",\"metadata\":{\"name\":"
              "\"current\"},\"computed\":\"%.*s\",",
              STR_ARG(time_text(clock_wall(f->c->env->clock), text)));
        types_write(&sums, out);
        fleet_viewer_init(&p.viewer, q, "", "pods", a);
        r = cards_write(&p, virtual_param(q, "node"), a);
        fleet_viewer_release(&p.viewer);
        buf_c(out, ",\"attention\":");
        fleet_attention(f, q, a, out);
        buf_ch(out, '}');
    }
    fleet_sums_release(&sums);
    return r ? r : arena_ok(a);
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
        buf_c(&b, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"FleetList\",\"metadata\":{},"
                  "\"items\":[");
    }
    int r = fleet_write(f, q, &a, &b);
    if (!q->name.n) {
        buf_c(&b, "]}");
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
    if (!f) {
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
    if (!f) {
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

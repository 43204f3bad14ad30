/*
 * admit_quota: the ResourceQuotas of a namespace, charged with each object that is made there.
 *
 * Everything is decided on the newest state, charges that are staged included, and the charge is staged with the object
 * (write_beside): however many writes come together, no quota is exceeded. What is deleted or has ended is given back
 * by the controller that counts (control/bounds/quota_count.h). Everybody's writes are charged, controllers' as well;
 * Events are not.
 */
#include "api/allowance.h"
#include "api/schema/codec.h"
#include "server/write/admit.h"
#include "wire/json/json.h"

enum { QUOTA_STEPS = 4000 }; /* of reading one */

/* One write, while it is weighed. */
struct weighed {
    struct write *w;
    const struct kind *kind;
    yyjson_val *tree;           /* of the object */
    struct quantity_map change; /* what it counts, less what the stored one does */
    int code;
};

static int nomem(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}

static int refuse(struct weighed *x, struct str why) {
    struct str name = json_str_at(x->tree, "metadata.name");
    return failure_forbidden(&x->w->failure, x->w->arena, x->kind, name, "%.*s", STR_ARG(why));
}

/* ---- texts ---- */

static void sort(struct str *v, size_t n) {
    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k > 0 && str_cmp(v[k - 1], v[k]) > 0; k--) {
            struct str t = v[k];
            v[k] = v[k - 1];
            v[k - 1] = t;
        }
    }
}

/* "pods=1,requests.cpu=2" of the names. */
static struct str amounts_text(const struct quantity_map *m, const struct str *names, size_t n,
                               struct arena *a) {
    static const struct quantity none;
    struct buf b;
    buf_init(&b, 64 << 10);
    for (size_t i = 0; i < n; i++) {
        const struct quantity *q = allowance_find(m, names[i]);
        buf_f(&b, "%s%.*s=", i ? "," : "", STR_ARG(names[i]));
        quantity_write(&b, q ? *q : none);
    }
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

static int exceed(struct weighed *x, const struct object *o, const struct namespace_quota_status *s,
                  struct str *names, size_t n) {
    struct arena *a = x->w->arena;
    sort(names, n);
    return refuse(x, arena_f(a, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                             STR_ARG(o->name), STR_ARG(amounts_text(&x->change, names, n, a)),
                             STR_ARG(amounts_text(&s->used, names, n, a)),
                             STR_ARG(amounts_text(&s->hard, names, n, a))));
}

/* ---- one quota ---- */

/* What of the quota such objects count against. */
static struct quantity_map matching(const struct weighed *x, const struct quantity_map *hard) {
    struct quantity_map m = {ARENA_ARRAY(x->w->arena, struct quantity_pair, hard->n + 1), 0};
    for (size_t i = 0; m.v && i < hard->n; i++) {
        if (allowance_is_of(hard->v[i].key, x->kind)) {
            m.v[m.n++] = hard->v[i];
        }
    }
    return m;
}

static int charge(struct weighed *x, const struct object *o, yyjson_val *tree,
                  const struct namespace_quota_status *was, const struct quantity_map *limits) {
    struct arena *a = x->w->arena;
    struct namespace_quota_status s = *was;
    struct str *over = ARENA_ARRAY(a, struct str, limits->n + 1);
    size_t n = 0;
    bool any = false;
    s.used.v = ARENA_ARRAY(a, struct quantity_pair, was->used.n + 1);
    if (over == NULL || s.used.v == NULL) {
        return nomem(x->w);
    }
    memcpy(s.used.v, was->used.v, was->used.n * sizeof *s.used.v);
    for (size_t i = 0; i < limits->n; i++) {
        struct str name = limits->v[i].key;
        const struct quantity *q = allowance_find(&x->change, name);
        if (q == NULL || quantity_is_zero(*q)) {
            continue;
        }
        any = true;
        if (allowance_add(&s.used, a, name, *q) != 0) {
            return nomem(x->w);
        }
        if (quantity_sign(*q) > 0 &&
            quantity_cmp(*allowance_find(&s.used, name), limits->v[i].value) > 0) {
            over[n++] = name;
        }
    }
    if (n > 0) {
        return exceed(x, o, was, over, n);
    }
    return any && !x->w->req->opt.dry_run
               ? write_beside(x->w, o, tree, &schema_namespace_quota_status, &s)
               : 0;
}

static int weigh(struct weighed *x, const struct object *o) {
    struct write *w = x->w;
    struct namespace_quota q;
    yyjson_doc *d;
    if (object_tree(o, w->arena, &d, NULL) != 0 ||
        codec_decode(&schema_namespace_quota, yyjson_doc_get_root(d), w->arena, &q, NULL) != 0) {
        return nomem(w);
    }
    if (q.spec == NULL || q.status == NULL || !allowance_covers(q.spec, x->kind, x->tree)) {
        return 0; /* before it was first counted it is in force for nobody, as in Kubernetes */
    }
    struct quantity_map limits = matching(x, &q.status->hard);
    bool pod = w->old == NULL && str_is(str_of(x->kind->plural), "pods") && !x->kind->group[0];
    struct str unsaid = pod ? allowance_unsaid(&limits, x->tree, w->arena) : (struct str){0};
    if (unsaid.n > 0) {
        return refuse(x, arena_f(w->arena, "failed quota: %.*s: must specify %.*s",
                                 STR_ARG(o->name), STR_ARG(unsaid)));
    }
    for (size_t i = 0; i < limits.n; i++) {
        if (allowance_find(&q.status->used, limits.v[i].key) == NULL) {
            return refuse(x, arena_f(w->arena, "status unknown for quota: %.*s, resources: %.*s",
                                     STR_ARG(o->name), STR_ARG(limits.v[i].key)));
        }
    }
    return limits.n > 0 ? charge(x, o, yyjson_doc_get_root(d), q.status, &limits) : 0;
}

static bool each_quota(void *ctx, const struct object *seen) {
    struct weighed *x = ctx;
    const struct object *o = mirror_pending(x->w->s->o.mirror, seen->kind, seen->ns, seen->name);
    if (!arena_charge(x->w->arena, QUOTA_STEPS)) {
        x->code = failure_set(&x->w->failure, x->w->arena, ERR_TOO_LARGE, "too many quotas");
    } else if (o != NULL) {
        x->code = weigh(x, o);
    }
    return x->code == 0;
}

/* ---- the write ---- */

static bool is_charged(const struct write *w) {
    const struct kind *k = kind_stored(w->req->kind);
    bool event = strcmp(k->kind, "Event") == 0 && k->group[0] == '\0';
    return (k->flags & KIND_NAMESPACED) && !event &&
           (w->old == NULL || (allowance_reads(k) && strcmp(k->kind, "Pod") != 0));
}

static int find_change(struct weighed *x) {
    struct write *w = x->w;
    struct quantity_map was;
    struct err err = {0};
    struct buf b;
    yyjson_doc *d = NULL;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(w->doc));
    struct str text = arena_str(w->arena, buf_view(&b));
    int r = buf_ok(&b);
    buf_release(&b);
    r = r ? r : json_parse(w->arena, text, &d, &err);
    if (r != 0) {
        return r;
    }
    x->tree = yyjson_doc_get_root(d);
    r = allowance_usage(x->kind, x->tree, w->arena, &x->change, &err);
    if (r == 0 && w->old != NULL) {
        r = allowance_usage(x->kind, w->old_tree, w->arena, &was, &err);
        for (size_t i = 0; r == 0 && i < was.n; i++) {
            r = allowance_sub(&x->change, w->arena, was.v[i].key, was.v[i].value);
        }
    }
    return r;
}

static bool stop(void *ctx, const struct object *o) {
    (void)o;
    *(bool *)ctx = true;
    return false;
}

int admit_quota(struct write *w) {
    const struct kind *quotas = kind_by_name(STR(""), STR("ResourceQuota"));
    struct weighed x = {.w = w, .kind = kind_stored(w->req->kind)};
    bool any = false;
    if (quotas == NULL || !is_charged(w) || mirror_count(w->s->o.mirror, quotas) == 0) {
        return 0;
    }
    mirror_scan(w->s->o.mirror, quotas, w->req->ns, stop, &any);
    if (!any) {
        return 0;
    }
    if (find_change(&x) != 0) {
        return nomem(w);
    }
    mirror_scan(w->s->o.mirror, quotas, w->req->ns, each_quota, &x);
    return x.code;
}

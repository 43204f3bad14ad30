/*
 * queue_preview: what an edit of queues, cohorts, flavors and LocalQueues would do. Two copies of the trees that it
 * touches decide as far as they can without anybody ending, one as things are and one edited; the difference is the
 * answer. Nothing is written.
 *
 * A deleted ClusterQueue goes on as a stopped one (it waits for what it admitted); a deleted ResourceFlavor that is in
 * use stays. What waits in no queue today because that is stopped or missing joins where the edit opens it.
 */
#include "api/kinds/kinds.h"
#include "api/schema/codec_encode.h"
#include "control/see/explain_private.h"

#include "api/schema/codec.h"
#include "wire/text/time.h"

enum { EDITS_MAX = 200, LISTED_MAX = 200 };
#define KUEUE "kueue.x-k8s.io"

enum edit_kind { EDIT_QUEUE, EDIT_COHORT, EDIT_FLAVOR, EDIT_LOCAL };

struct edit {
    enum edit_kind kind;
    bool deleted, stops, drains;
    struct str ns, name, cluster; /* cluster: of a LocalQueue */
    struct queue_input queue;
    struct cohort_input cohort;
    struct flavor_input flavor;
};

struct outcome_of {
    bool admitted, evicted; /* within the run */
    const char *why;        /* static; of an eviction or of not being queued */
    enum preempt_reason reason;
    struct str by;
    const char *pends; /* static */
    struct str message;
};

struct preview {
    struct edit edits[EDITS_MAX];
    size_t n_edits;
    struct insight *in;
    struct preview_more *more; /* those that wait in no queue today */
    size_t n_more;
    struct insight_viewer v;
    struct outcome_of *before, *after; /* by place among the works */
    struct preview_remedies remedies;
    struct str notes[EDITS_MAX];
    size_t n_notes;
};

static const struct {
    const char *kind, *plural;
} kinds[] = {
    [EDIT_QUEUE] = {"ClusterQueue", "clusterqueues"},
    [EDIT_COHORT] = {"Cohort", "cohorts"},
    [EDIT_FLAVOR] = {"ResourceFlavor", "resourceflavors"},
    [EDIT_LOCAL] = {"LocalQueue", "localqueues"},
};

/* ---- reading the edit ---- */

static int edit_kind_of(struct str kind, const char *list, size_t at, struct err *err) {
    for (int i = 0; i < 4; i++) {
        if (str_is(kind, kinds[i].kind)) {
            return i;
        }
    }
    return err_set(err, ERR_INVALID,
                   "spec.%s[%zu].kind: expected ClusterQueue, Cohort, ResourceFlavor or "
                   "LocalQueue, not \"%.*s\"",
                   list, at, STR_ARG(str_head(kind, 64)));
}

static int allowed(const struct virtual_ask *q, const struct edit *e, bool there, struct err *err) {
    const char *verb = e->deleted ? "delete" : there ? "update" : "create";
    if (q->may(q, verb, KUEUE, kinds[e->kind].plural, e->ns, e->name)) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN,
                   "a preview needs the right to make the edit: you may not %s %s \"%.*s\"", verb,
                   kinds[e->kind].plural, STR_ARG(e->name));
}

static int invalid(const struct edit *e, const struct causes *c, struct err *err) {
    return err_set(err, ERR_INVALID, "%s \"%.*s\": %.*s: %.*s", kinds[e->kind].kind,
                   STR_ARG(e->name), STR_ARG(c->v[0].field), STR_ARG(c->v[0].text));
}

static bool stops(struct str policy) {
    return policy.n > 0 && !str_is(policy, "None");
}

/* The view of what would be stored, into the edit. */
static int edit_translate(struct edit *e, void *view, struct arena *a) {
    const struct cluster_queue *cq = view;
    const struct local_queue *lq = view;
    switch (e->kind) {
    case EDIT_QUEUE:
        e->drains = cq->spec != NULL && str_is(cq->spec->stop_policy, "HoldAndDrain");
        return translate_queue(cq, a, &e->queue);
    case EDIT_COHORT:
        return translate_cohort(view, a, &e->cohort);
    case EDIT_FLAVOR:
        return translate_flavor(view, a, &e->flavor);
    case EDIT_LOCAL:
        e->cluster = lq->spec != NULL ? lq->spec->cluster_queue : (struct str){0};
        e->stops = lq->spec != NULL && stops(lq->spec->stop_policy);
        e->drains = lq->spec != NULL && str_is(lq->spec->stop_policy, "HoldAndDrain");
        return 0;
    }
    return ERR_INTERNAL;
}

struct unknown {
    struct arena *arena;
    struct str path; /* the first */
};

static void note_unknown(void *ctx, struct str path) {
    struct unknown *u = ctx;
    if (u->path.n == 0) {
        u->path = arena_str(u->arena, path);
    }
}

/* As kubectl has it checked: a field that is not known is a mistake, and would be dropped in silence here. */
static int edit_prune(const struct edit *e, const struct schema *s, yyjson_mut_doc *d,
                      struct arena *a, struct err *err) {
    struct unknown u = {.arena = a};
    int r = codec_prune(s, d, yyjson_mut_doc_get_root(d), note_unknown, &u);
    if (r == 0 && u.path.n > 0) {
        r = err_set(err, ERR_INVALID, "%s \"%.*s\": unknown field \"%.*s\"", kinds[e->kind].kind,
                    STR_ARG(e->name), STR_ARG(u.path));
    }
    return r;
}

/* As a write would be: pruned, to the storage version, defaulted, checked; then decoded. */
static int edit_decode(struct virtual_call *k, struct edit *e, const struct kind *kind,
                       const struct kind_version *kv, yyjson_val *v, struct err *err) {
    struct arena *a = &k->arena;
    struct causes causes = {.arena = a};
    yyjson_mut_doc *d = json_mut_copy(a, v);
    yyjson_doc *doc;
    struct buf text;
    if (d == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    int r = edit_prune(e, kv->schema, d, a, err);
    r = r ? r : codec_to_storage(kind, kv, d, err);
    r = r ? r : codec_prune(kind_storage(kind)->schema, d, yyjson_mut_doc_get_root(d), NULL, NULL);
    r = r ? r : codec_default(kind, d, err);
    r = r ? r : codec_validate(kind, yyjson_mut_doc_get_root(d), NULL, &causes);
    if (r != 0 || causes.n > 0) {
        return r ? r : invalid(e, &causes, err);
    }
    buf_init(&text, LIMIT_OBJECT_BYTES);
    json_write_mut(&text, yyjson_mut_doc_get_root(d));
    r = json_parse(a, arena_str(a, buf_view(&text)), &doc, err);
    buf_release(&text);
    const struct schema *s = kind_storage(kind)->schema;
    void *view = arena_zalloc(a, s->size);
    r = r == 0 && view == NULL ? ERR_NOMEM : r;
    r = r ? r : codec_decode(s, yyjson_doc_get_root(doc), a, view, err);
    r = r ? r : edit_translate(e, view, a);
    return r ? err_set(err, r, "out of memory") : 0;
}

static int edit_object(struct virtual_call *k, const struct virtual_ask *q, size_t i, yyjson_val *v,
                       struct err *err) {
    struct edit *e = &k->preview->edits[k->preview->n_edits];
    struct str version = json_str_at(v, "apiVersion"), kind_name = json_str_at(v, "kind");
    int kind = edit_kind_of(kind_name, "objects", i, err);
    if (kind < 0) {
        return kind;
    }
    const struct kind *row = kind_by_api_version(version, kind_name);
    struct str at = version;
    ptrdiff_t slash = str_find(version, '/');
    at = slash >= 0 ? str_skip(version, (size_t)slash + 1) : version;
    if (row == NULL || !str_is(str_of(row->group), KUEUE)) {
        return err_set(err, ERR_INVALID, "spec.objects[%zu]: %.*s %.*s is not served", i,
                       STR_ARG(str_head(version, 64)), STR_ARG(kind_name));
    }
    *e = (struct edit){.kind = (enum edit_kind)kind,
                       .name = json_str_at(v, "metadata.name"),
                       .ns = kind == EDIT_LOCAL ? json_str_at(v, "metadata.namespace")
                                                : (struct str){0}};
    if (kind == EDIT_LOCAL && e->ns.n == 0) {
        return err_set(err, ERR_INVALID, "LocalQueue \"%.*s\": metadata.namespace: Required value",
                       STR_ARG(e->name));
    }
    bool there = mirror_get(k->x->c->env->mirror, row, e->ns, e->name) != NULL;
    int r = allowed(q, e, there, err);
    r = r ? r : edit_decode(k, e, row, kind_version(row, at), v, err);
    k->preview->n_edits += r == 0;
    return r;
}

static int edit_deletion(struct virtual_call *k, const struct virtual_ask *q, size_t i,
                         yyjson_val *v, struct err *err) {
    struct edit *e = &k->preview->edits[k->preview->n_edits];
    int kind = edit_kind_of(json_str_at(v, "kind"), "deletions", i, err);
    if (kind < 0) {
        return kind;
    }
    *e = (struct edit){.kind = (enum edit_kind)kind,
                       .deleted = true,
                       .name = json_str_at(v, "name"),
                       .ns = json_str_at(v, "namespace")};
    const struct kind *row = kind_by_name(STR(KUEUE), str_of(kinds[kind].kind));
    if (mirror_get(k->x->c->env->mirror, row, e->ns, e->name) == NULL) {
        return err_set(err, ERR_INVALID, "spec.deletions[%zu]: there is no %s \"%.*s\"", i,
                       kinds[kind].kind, STR_ARG(e->name));
    }
    int r = allowed(q, e, true, err);
    k->preview->n_edits += r == 0;
    return r;
}

static int edits_read(struct virtual_call *k, const struct virtual_ask *q, struct err *err) {
    yyjson_doc *doc;
    yyjson_val *v;
    size_t i, n;
    int r = json_parse(&k->arena, arena_str(&k->arena, q->body), &doc, err);
    yyjson_val *root = r == 0 ? yyjson_doc_get_root(doc) : NULL;
    yyjson_val *objects = json_path(root, "spec.objects");
    yyjson_val *deletions = json_path(root, "spec.deletions");
    if (r == 0 && yyjson_arr_size(objects) + yyjson_arr_size(deletions) > EDITS_MAX) {
        return err_set(err, ERR_INVALID, "spec: at most %d objects", EDITS_MAX);
    }
    yyjson_arr_foreach(objects, i, n, v) {
        r = r ? r : edit_object(k, q, i, v, err);
    }
    yyjson_arr_foreach(deletions, i, n, v) {
        r = r ? r : edit_deletion(k, q, i, v, err);
    }
    if (r == 0 && k->preview->n_edits == 0) {
        return err_set(err, ERR_INVALID, "spec: no objects and no deletions: nothing to preview");
    }
    return r;
}

/* ---- which trees ---- */

struct touched {
    struct str *queues, *cohorts;
    size_t n_queues, n_cohorts;
};

static struct str cluster_of(const struct queue_explain *x, struct str ns, struct str name) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    const struct local_state *l =
        n > 0 && (size_t)n < sizeof(key) ? map_get(&x->c->locals, str_from(key, (size_t)n)) : NULL;
    return l != NULL && l->cluster != NULL ? str_of(l->cluster) : (struct str){0};
}

static void note(struct preview *p, struct str text) {
    if (p->n_notes < EDITS_MAX) {
        p->notes[p->n_notes++] = text;
    }
}

/* Adds the users of a flavor. One that is in use is not deleted, as its finalizer sees to. */
static int touch_flavor(struct virtual_call *k, struct edit *e, struct touched *t) {
    struct str *users;
    size_t n;
    int r = clone_flavor_users(k->x->c->engine, e->name, &k->arena, &users, &n);
    if (r == 0 && e->deleted && n > 0) {
        note(k->preview, arena_f(&k->arena,
                                 "ResourceFlavor %.*s is in use: it stays until no ClusterQueue "
                                 "names it",
                                 STR_ARG(e->name)));
        e->deleted = false;
        e->flavor.name = (struct str){0}; /* nothing happens */
    }
    struct str *more =
        r == 0 ? ARENA_ARRAY(&k->arena, struct str, t->n_queues + n + 2 * EDITS_MAX) : NULL;
    if (more == NULL) {
        return ERR_NOMEM;
    }
    memcpy(more, t->queues, t->n_queues * sizeof(*more));
    memcpy(more + t->n_queues, users, n * sizeof(*more));
    t->queues = more;
    t->n_queues += n;
    return 0;
}

static int trees_touched(struct virtual_call *k, struct touched *t) {
    struct preview *p = k->preview;
    t->queues = ARENA_ARRAY(&k->arena, struct str, 2 * EDITS_MAX);
    t->cohorts = ARENA_ARRAY(&k->arena, struct str, 2 * EDITS_MAX);
    int r = t->queues != NULL && t->cohorts != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < p->n_edits && r == 0; i++) {
        struct edit *e = &p->edits[i];
        switch (e->kind) {
        case EDIT_QUEUE:
            t->queues[t->n_queues++] = e->name;
            t->cohorts[t->n_cohorts++] = e->queue.cohort;
            break;
        case EDIT_COHORT:
            t->cohorts[t->n_cohorts++] = e->name;
            t->cohorts[t->n_cohorts++] = e->cohort.parent;
            break;
        case EDIT_FLAVOR:
            r = touch_flavor(k, e, t);
            break;
        case EDIT_LOCAL:
            t->queues[t->n_queues++] = cluster_of(k->x, e->ns, e->name);
            t->queues[t->n_queues++] = e->cluster;
            break;
        }
    }
    return r;
}

/* ---- the work: two runs ---- */

struct telling {
    struct insight *in;
    struct arena *keep, scratch;
    struct outcome_of *out;
    struct engine *e;
};

static void pends(void *ctx, const struct engine_action *a, int64_t now) {
    struct telling *t = ctx;
    ptrdiff_t i = insight_find(t->in, a->uid);
    struct buf b;
    if (i < 0 || a->verdict == NULL) {
        return;
    }
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    arena_reset(&t->scratch);
    verdict_text(a->verdict, engine_flavors(t->e), engine_resources(t->e), &t->scratch, &b);
    t->out[i].pends = pend_reason_text(a->verdict->reason);
    t->out[i].message = arena_str(t->keep, buf_view(&b));
    buf_release(&b);
}

static int settle(struct virtual_call *k, struct outcome_of *out, const atomic_bool *stop) {
    struct insight *in = k->preview->in;
    size_t n = in->clone.n_works;
    struct telling t = {.in = in, .keep = &k->arena, .out = out};
    struct forecast_work *runs = ARENA_ARRAY(&k->arena, struct forecast_work, n + 1);
    struct forecast_options o = {
        .now = in->now, .settle_only = true, .stop = stop, .waits = pends, .ctx = &t};
    bool cut;
    if (runs == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        runs[i] = (struct forecast_work){.uid = in->clone.works[i].in.uid,
                                         .holds = in->clone.works[i].holds};
    }
    int r = clone_build(&in->clone, &t.e);
    if (r != 0) {
        return r;
    }
    arena_init(&t.scratch, 1 << 20);
    r = forecast_run(t.e, runs, n, &o, &cut);
    arena_release(&t.scratch);
    if (r == 0 && out == k->preview->after) {
        r = preview_remedies(t.e, in, &k->preview->v, &k->arena, &k->preview->remedies);
    }
    engine_free(t.e);
    for (size_t i = 0; i < n && r == 0; i++) {
        out[i].admitted = runs[i].start != FORECAST_NEVER;
        out[i].evicted = out[i].evicted || runs[i].evicted;
        out[i].reason = runs[i].reason;
        out[i].by = runs[i].by;
    }
    return r;
}

/* What holds quota loses it, and waits where that is possible. */
static void drain(struct preview *p, size_t i, const char *why) {
    struct clone_work *w = &p->in->clone.works[i];
    if (w->holds) {
        w->holds = false;
        w->held = NULL;
        w->n_held = 0;
        p->after[i].evicted = true;
        p->after[i].why = why;
    }
}

static void edit_local(struct preview *p, const struct edit *e) {
    struct insight *in = p->in;
    for (size_t i = 0; i < in->clone.n_works; i++) {
        struct clone_work *w = &in->clone.works[i];
        if (in->works[i].obj == NULL || !str_eq(in->works[i].obj->ns, e->ns) ||
            !str_eq(in->works[i].local, e->name)) {
            continue;
        }
        if (e->drains) {
            drain(p, i, "its LocalQueue is drained");
        }
        if (w->holds) {
            continue;
        }
        bool there = clone_queue(&in->clone, e->cluster) != NULL;
        w->in.queue = e->deleted || e->stops || !there ? (struct str){0} : e->cluster;
        p->after[i].why = p->after[i].why != NULL ? p->after[i].why
                          : e->deleted            ? "its LocalQueue would be gone"
                          : e->stops              ? "its LocalQueue is stopped"
                          : !there ? "its LocalQueue names a ClusterQueue that is not there"
                                   : NULL;
    }
}

static void drain_queue(struct preview *p, struct str queue) {
    for (size_t i = 0; i < p->in->clone.n_works; i++) {
        if (str_eq(p->in->clone.works[i].in.queue, queue)) {
            drain(p, i, "its ClusterQueue is drained");
        }
    }
}

static void stopped_queue(struct preview *p, struct str queue, const char *why) {
    for (size_t i = p->in->clone.n_holding; i < p->in->clone.n_works; i++) {
        if (str_eq(p->in->clone.works[i].in.queue, queue)) {
            p->after[i].why = why;
        }
    }
}

static int edit_queue(struct preview *p, const struct edit *e) {
    struct queue_input *q = clone_queue(&p->in->clone, e->name);
    if (e->deleted) {
        if (q != NULL) {
            q->held = true;
        }
        stopped_queue(p, e->name, "its ClusterQueue would be going");
        return 0;
    }
    if (e->drains) {
        drain_queue(p, e->name);
    }
    if (e->queue.held) {
        stopped_queue(p, e->name, "its ClusterQueue is stopped");
    }
    return clone_queue_put(&p->in->clone, &e->queue);
}

/* Those that wait in no queue today: where does the edit lead them? */
static void edit_more(struct preview *p, const struct preview_more *m) {
    struct insight *in = p->in;
    struct str cluster = m->cluster;
    bool stopped = m->stopped;
    for (size_t i = 0; i < p->n_edits; i++) {
        const struct edit *e = &p->edits[i];
        if (e->kind == EDIT_LOCAL && str_eq(e->ns, in->works[m->at].obj->ns) &&
            str_eq(e->name, in->works[m->at].local)) {
            cluster = e->cluster;
            stopped = e->stops || e->deleted;
        }
    }
    const struct queue_input *q = clone_queue(&in->clone, cluster);
    bool open = q != NULL && !q->held && !stopped;
    in->clone.works[m->at].in.queue = open ? q->name : (struct str){0};
    p->after[m->at].why = open      ? NULL
                          : stopped ? "its LocalQueue is stopped"
                                    : "its ClusterQueue is stopped, or not there";
}

static int edits_apply(struct preview *p) {
    struct clone *c = &p->in->clone;
    int r = 0;
    for (size_t i = 0; i < p->n_edits && r == 0; i++) { /* queues come before what names them */
        const struct edit *e = &p->edits[i];
        switch (e->kind) {
        case EDIT_QUEUE:
            r = edit_queue(p, e);
            break;
        case EDIT_COHORT:
            if (e->deleted) {
                clone_cohort_del(c, e->name);
            } else {
                r = clone_cohort_put(c, &e->cohort);
            }
            break;
        case EDIT_FLAVOR:
            if (e->deleted) {
                clone_flavor_del(c, e->name);
            } else if (e->flavor.name.n > 0) {
                r = clone_flavor_put(c, &e->flavor);
            }
            break;
        case EDIT_LOCAL:
            break;
        }
    }
    for (size_t i = 0; i < p->n_edits && r == 0; i++) {
        if (p->edits[i].kind == EDIT_LOCAL) {
            edit_local(p, &p->edits[i]);
        }
    }
    for (size_t i = 0; i < p->n_more && r == 0; i++) {
        edit_more(p, &p->more[i]);
    }
    return r;
}

/* ---- the answer ---- */

static const char *reason_word(enum preempt_reason r) {
    static const char *const words[] = {[PREEMPT_IN_QUEUE] = "InClusterQueue",
                                        [PREEMPT_RECLAIM] = "InCohortReclamation",
                                        [PREEMPT_RECLAIM_BORROWING] =
                                            "InCohortReclaimWhileBorrowing",
                                        [PREEMPT_FAIR_SHARING] = "InCohortFairSharing"};
    return words[r];
}

static struct str reason_of(struct virtual_call *k, size_t i, bool evicted) {
    const struct preview *p = k->preview;
    const struct outcome_of *o = &p->after[i];
    struct buf b;
    buf_init(&b, LIMIT_CONDITION_MESSAGE);
    if (o->why != NULL) {
        buf_c(&b, o->why);
    } else if (evicted) {
        ptrdiff_t by = insight_find(p->in, o->by);
        buf_f(&b, "preempted (%s)", reason_word(o->reason));
        if (by >= 0 && insight_shows(p->in, &p->v, (size_t)by) && p->in->works[by].obj != NULL) {
            buf_f(&b, " by %.*s/%.*s", STR_ARG(p->in->works[by].obj->ns),
                  STR_ARG(p->in->works[by].obj->name));
        }
    } else if (o->message.n > 0) {
        buf_str(&b, o->message);
    } else {
        buf_c(&b, "others are before it");
    }
    if (evicted && o->admitted) {
        buf_c(&b, "; it would be admitted again at once");
    }
    struct str text = arena_str(&k->arena, buf_view(&b));
    buf_release(&b);
    return text;
}

enum list { LIST_ADMITTED, LIST_EVICTED, LIST_WAITING_NEW, LIST_WAITING };

static bool belongs(const struct preview *p, size_t i, enum list l) {
    const struct outcome_of *a = &p->after[i], *b = &p->before[i];
    bool held = i < p->in->clone.n_holding, evicted = a->evicted && !b->evicted;
    switch (l) {
    case LIST_ADMITTED:
        return !held && a->admitted && !b->admitted;
    case LIST_EVICTED:
        return held && evicted;
    case LIST_WAITING_NEW:
        return !held && !a->admitted && b->admitted;
    case LIST_WAITING:
        return !held && !a->admitted && !b->admitted;
    }
    return false;
}

/* How many there are; as many as are listed are added. */
static int64_t add_list(struct virtual_call *k, enum list l, struct explained_workload_list *to) {
    const struct preview *p = k->preview;
    int64_t count = 0;
    for (size_t i = 0; i < p->in->clone.n_works; i++) {
        if (!belongs(p, i, l)) {
            continue;
        }
        count++;
        if (to->v != NULL && to->n < LISTED_MAX) {
            insight_reference(p->in, i, &p->v, &to->v[to->n]);
            to->v[to->n++].reason =
                l != LIST_ADMITTED ? reason_of(k, i, l == LIST_EVICTED) : (struct str){0};
        }
    }
    return count;
}

static void add_notes(struct virtual_call *k) {
    const struct clone *c = &k->preview->in->clone;
    if (c->pending_left_out + c->holding_left_out > 0) {
        note(k->preview, arena_f(&k->arena, "%zu workloads were left out: there are too many",
                                 c->pending_left_out + c->holding_left_out));
    }
    if (c->places.left_out) {
        note(k->preview, STR("places on nodes were left out: there are too many nodes"));
    }
}

static void add_suggestions(struct virtual_call *k, struct preview_status *to) {
    const struct preview_remedies *s = &k->preview->remedies;
    to->suggestions.v = ARENA_ARRAY(&k->arena, struct preview_suggestion, s->n + 1);
    for (size_t i = 0; to->suggestions.v != NULL && i < s->n; i++) {
        to->suggestions.v[to->suggestions.n++] =
            (struct preview_suggestion){s->v[i].queue, s->v[i].field, s->v[i].quota, s->v[i].text};
    }
}

static void preview_answer(struct virtual_call *k) {
    struct meta meta = {0};
    struct preview_status s = {.computed_ns = k->now};
    struct explained_workload_list *lists[] = {&s.admitted, &s.evicted, &s.waiting};
    for (size_t i = 0; i < 3; i++) {
        lists[i]->v = ARENA_ARRAY(&k->arena, struct explained_workload, LISTED_MAX);
    }
    s.admitted_count = add_list(k, LIST_ADMITTED, &s.admitted);
    s.evicted_count = add_list(k, LIST_EVICTED, &s.evicted);
    s.waiting_count = add_list(k, LIST_WAITING_NEW, &s.waiting);
    s.waiting_count += add_list(k, LIST_WAITING, &s.waiting);
    add_suggestions(k, &s);
    add_notes(k);
    s.notes = (struct str_list){k->preview->notes, k->preview->n_notes};
    codec_encode_object(&kind_queue_preview, &(struct queue_preview){&meta, &s}, &k->out);
    k->out.failed = k->out.failed ? k->out.failed : arena_ok(&k->arena);
}

static void preview_work(void *ctx, const atomic_bool *stop) {
    struct virtual_call *k = ctx;
    struct preview *p = k->preview;
    size_t n = p->in->clone.n_works;
    p->before = ARENA_ARRAY(&k->arena, struct outcome_of, n + 1);
    p->after = ARENA_ARRAY(&k->arena, struct outcome_of, n + 1);
    int r = p->before != NULL && p->after != NULL ? insight_read(p->in) : ERR_NOMEM;
    if (r == 0) {
        r = settle(k, p->before, stop);
    }
    if (r == 0) {
        r = edits_apply(p);
    }
    if (r == 0) {
        r = settle(k, p->after, stop);
    }
    if (r == 0) {
        preview_answer(k);
    } else {
        k->code = err_set(&k->err, r == ERR_GONE ? ERR_UNAVAILABLE : r,
                          r == ERR_NOMEM ? "out of memory" : "the what-if run was stopped");
    }
}

/* ---- the question ---- */

static int prepare(struct virtual_call *k, const struct virtual_ask *q, struct err *err) {
    struct touched t = {0};
    struct shared_insight *s;
    k->preview = ARENA_NEW(&k->arena, struct preview);
    int r = k->preview != NULL ? edits_read(k, q, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (r != 0) {
        return r;
    }
    s = mem_zalloc(sizeof(*s));
    r = s != NULL ? trees_touched(k, &t) : ERR_NOMEM;
    if (r == 0) {
        r = explain_insight_take(k->x, t.queues, t.n_queues, t.cohorts, t.n_cohorts, &s->in);
    }
    if (r != 0) {
        mem_free(s);
        return err_set(err, r, "out of memory");
    }
    s->users = 1;
    k->parts[k->n_parts++].s = s;
    k->preview->in = s->in;
    size_t left_out = 0;
    r = preview_more(k, s->in, t.queues, t.n_queues, &k->preview->more, &k->preview->n_more,
                     &left_out);
    if (r == 0 && left_out > 0) {
        note(k->preview,
             arena_f(&k->arena, "%zu workloads that wait in no queue were left out", left_out));
    }
    r = r ? r : explain_viewer(k, q, s->in, &k->preview->v);
    return r ? err_set(err, r, "out of memory") : 0;
}

int preview_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_explain *x =
        (struct queue_explain *)((char *)s - offsetof(struct queue_explain, preview));
    struct virtual_call *k = explain_call_new(x, q, done, ctx);
    int r = k != NULL ? prepare(k, q, err) : err_set(err, ERR_NOMEM, "out of memory");
    if (r != 0) {
        explain_call_free(k);
        return r;
    }
    return explain_call_start(k, preview_work, ret, err);
}

/* queue_explain: see queue_explain.h. Previews are in queue_preview.c. */
#include "api/kinds/kinds.h"
#include "api/schema/codec_encode.h"
#include "control/see/explain_private.h"

#include "api/tables/view_reservation.h"
#include "wire/text/time.h"

enum { INSIGHTS_MAX = 16, SCAN_MAX = 2000, VISITED_MAX = 50000 };
static const int64_t FRESH_NS = 1500 * NS_PER_MS;

/* ---- insights ---- */

static void insight_leave(struct shared_insight *s) {
    if (--s->users == 0) {
        insight_free(s->in);
        mem_free(s->key);
        mem_free(s);
    }
}

/* Those that are old, or too many, are forgotten; whoever uses one still has it. */
static void insights_trim(struct queue_explain *x, int64_t now) {
    size_t kept = 0;
    for (struct shared_insight **p = &x->insights; *p != NULL;) {
        struct shared_insight *s = *p;
        if (now - s->taken_ns < FRESH_NS && kept < INSIGHTS_MAX - 1) {
            kept++;
            p = &s->next;
        } else {
            *p = s->next;
            insight_leave(s);
        }
    }
}

struct explain_leaving {
    struct str ns, name;
    size_t n;
};

static bool leaving_each(void *ctx, const struct object *o) {
    struct explain_leaving *l = ctx;
    if (o->deleting_ns != 0 && str_is(str_of(o->kind->kind), "Pod")) {
        l->ns = l->n == 0 ? o->ns : l->ns;
        l->name = l->n == 0 ? o->name : l->name;
        l->n++;
    }
    return true;
}

/* The pods that an evicted Workload still has: its owners, or theirs. Empty: none is known. */
static struct str awaited(const struct queue_controller *c, const struct object *w,
                          struct arena *a) {
    struct explain_leaving l = {0};
    for (size_t i = 0; i < w->n_owners; i++) {
        const struct object *o = mirror_owner(c->env->mirror, w->ns, &w->owners[i]);
        if (o != NULL) {
            (void)leaving_each(&l, o);
            mirror_owned(c->env->mirror, o, leaving_each, &l);
        }
    }
    return l.n == 0 ? (struct str){0}
           : l.n == 1
               ? arena_f(a, "pod %.*s/%.*s", STR_ARG(l.ns), STR_ARG(l.name))
               : arena_f(a, "pod %.*s/%.*s and %zu more", STR_ARG(l.ns), STR_ARG(l.name), l.n - 1);
}

static bool is_booked(const struct queue_controller *c, struct str queue) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("ClusterQueue"));
    const struct object *o = mirror_get(c->env->mirror, k, (struct str){0}, queue);
    return o != NULL && object_label(o, STR(RESERVATION_LABEL)).n > 0;
}

/* Which works wait for admission checks after they got quota, whose quota is a booking's, and whose end is awaited. */
static void mark_works(const struct queue_controller *c, struct insight *in) {
    const struct cluster_state *s = NULL;
    bool booked = false;
    for (size_t i = 0; i < in->clone.n_works; i++) {
        const struct clone_work *k = &in->clone.works[i];
        struct insight_work *w = &in->works[i];
        if (s == NULL || !str_eq(s->name, k->in.queue)) {
            s = map_get(&c->clusters, k->in.queue);
            booked = is_booked(c, k->in.queue);
        }
        w->booked = booked;
        w->checked = s != NULL && s->n_rules > 0;
        if (k->holds && k->in.evicting && w->obj != NULL) {
            w->awaits = awaited(c, w->obj, &in->arena);
        }
    }
}

int explain_insight_take(struct queue_explain *x, const struct str *queues, size_t n_queues,
                         const struct str *cohorts, size_t n_cohorts, struct insight **ret) {
    struct insight_options o = {.mirror = x->c->env->mirror,
                                .engine = x->c->engine,
                                .times = x->times,
                                .hindsight = x->hindsight,
                                .now = clock_wall(x->c->env->clock),
                                .queues = queues,
                                .n_queues = n_queues,
                                .cohorts = cohorts,
                                .n_cohorts = n_cohorts};
    int r = insight_take(&o, ret);
    if (r == 0) {
        mark_works(x->c, *ret);
        queue_kick(x->c); /* taking may have ended a cycle under way */
    }
    return r;
}

/* The insight of a queue's tree: a fresh one that is there, or one taken now. The caller becomes a user. */
static int insight_of(struct queue_explain *x, struct str queue, struct str key,
                      struct shared_insight **ret) {
    int64_t now = clock_mono(x->c->env->clock);
    insights_trim(x, now);
    for (struct shared_insight *s = x->insights; s != NULL; s = s->next) {
        if (str_is(key, s->key)) {
            s->users++;
            *ret = s;
            return 0;
        }
    }
    struct shared_insight *s = mem_zalloc(sizeof(*s));
    char *copy = mem_cstr(key);
    int r =
        s != NULL && copy != NULL ? explain_insight_take(x, &queue, 1, NULL, 0, &s->in) : ERR_NOMEM;
    if (r != 0) {
        mem_free(s);
        mem_free(copy);
        return r;
    }
    s->key = copy;
    s->taken_ns = now;
    s->users = 2; /* the list's and the caller's */
    s->next = x->insights;
    x->insights = s;
    *ret = s;
    return 0;
}

int explain_viewer(struct virtual_call *k, const struct virtual_ask *q, const struct insight *in,
                   struct insight_viewer *ret) {
    struct str all = {0};
    const char *group = "kueue.x-k8s.io";
    *ret = (struct insight_viewer){.everything = q->may(q, "list", group, "workloads", all, all),
                                   .queues = q->may(q, "list", group, "clusterqueues", all, all)};
    if (ret->everything) {
        return 0;
    }
    bool *v = ARENA_ARRAY(&k->arena, bool, in->n_namespaces + 1);
    for (size_t i = 0; v != NULL && i < in->n_namespaces; i++) {
        v[i] = in->namespaces[i].n > 0 &&
               q->may(q, "list", group, "workloads", in->namespaces[i], all);
    }
    ret->namespaces = v;
    return v != NULL ? 0 : ERR_NOMEM;
}

/* ---- calls ---- */

struct virtual_call *explain_call_new(struct queue_explain *x, const struct virtual_ask *q,
                                      virtual_done *done, void *ctx) {
    struct virtual_call *k = mem_zalloc(sizeof(*k));
    if (k != NULL) {
        k->x = x;
        k->done = done;
        k->ctx = ctx;
        k->now = clock_wall(x->c->env->clock);
        k->revision = mirror_revision(x->c->env->mirror);
        arena_init(&k->arena, 64 << 20);
        buf_init(&k->out, 64 << 20);
        k->next = x->calls;
        if (k->next != NULL) {
            k->next->prev = k;
        }
        x->calls = k;
    }
    return k;
}

static void call_leave(struct virtual_call *k) {
    if (k->x != NULL) {
        *(k->prev != NULL ? &k->prev->next : &k->x->calls) = k->next;
        if (k->next != NULL) {
            k->next->prev = k->prev;
        }
        k->x = NULL;
    }
}

void explain_call_free(struct virtual_call *k) {
    if (k == NULL) {
        return;
    }
    call_leave(k);
    for (size_t i = 0; i < k->n_items; i++) {
        object_unref(k->items[i].obj);
    }
    for (size_t i = 0; i < k->n_parts; i++) {
        insight_leave(k->parts[i].s);
    }
    buf_release(&k->out);
    arena_release(&k->arena);
    mem_free(k);
}

/* On the loop thread: the answer is there. */
static void call_done(void *ctx) {
    struct virtual_call *k = ctx;
    bool told = k->x != NULL && !k->cancelled;
    for (size_t i = 0; told && k->code == 0 && i < k->n_parts; i++) {
        insight_note(k->parts[i].s->in, k->x->hindsight);
    }
    if (told) {
        if (k->code == 0 && buf_ok(&k->out) != 0) {
            k->code = err_set(&k->err, buf_ok(&k->out), "the answer is too large");
        }
        k->done(k->ctx, k->code, buf_view(&k->out), &k->err);
    }
    explain_call_free(k);
}

int explain_call_start(struct virtual_call *k, void (*work)(void *ctx, const atomic_bool *stop),
                       struct virtual_call **ret, struct err *err) {
    struct offload *o = k->x->c->env->offload;
    if (o == NULL) {
        static const atomic_bool never;
        work(k, &never);
        call_done(k);
        return 0;
    }
    int r = o->start(o, work, call_done, k, &k->job, err);
    if (r != 0) {
        explain_call_free(k);
        return r;
    }
    *ret = k;
    return 0;
}

static void call_cancel(struct virtual_source *s, struct virtual_call *k) {
    k->cancelled = true;
    k->x->c->env->offload->cancel(k->x->c->env->offload, k->job);
}

/* ---- from what is written ---- */

static yyjson_val *condition_of(yyjson_val *w, const char *type, const char *status) {
    yyjson_val *list = json_path(w, "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), type) && str_is(json_str_at(c, "status"), status)) {
            return c;
        }
    }
    return NULL;
}

/* "waits for admission checks: budget (Pending): no money yet", those that are not Ready. */
static void checks_text(yyjson_val *w, struct buf *out) {
    yyjson_val *list = json_path(w, "status.admissionChecks"), *c;
    size_t i, n, told = 0;
    yyjson_arr_foreach(list, i, n, c) {
        if (!str_is(json_str_at(c, "state"), "Ready")) {
            struct str message = json_str_at(c, "message");
            buf_c(out, told++ == 0 ? "quota is reserved; waits for admission checks: " : "; ");
            buf_f(out, "%.*s (%.*s)%s%.*s", STR_ARG(json_str_at(c, "name")),
                  STR_ARG(json_str_at(c, "state")), message.n > 0 ? ": " : "", STR_ARG(message));
        }
    }
}

static void written_explain(const struct explain_item *it, yyjson_val *w, int64_t now,
                            struct str why, struct buf *out) {
    const struct object *o = it->obj;
    struct str cluster = json_str_at(w, "status.admission.clusterQueue"), inactive = it->inactive;
    const struct owner_ref *by = object_controller(o);
    yyjson_val *finished = condition_of(w, "Finished", "True");
    yyjson_val *admitted = condition_of(w, "Admitted", "True");
    yyjson_val *waits = condition_of(w, "QuotaReserved", "False");
    yyjson_val *reserved = condition_of(w, "QuotaReserved", "True");
    yyjson_val *leaves = reserved != NULL ? condition_of(w, "Evicted", "True") : NULL;
    bool held = !json_bool_at(w, "spec.active", true);
    yyjson_val *c = finished   ? finished
                    : leaves   ? leaves
                    : admitted ? admitted
                    : reserved ? reserved
                               : waits;
    struct str again = json_str_at(w, "status.requeueState.requeueAt");
    struct str message = json_str_at(c, "message");
    bool far = why.n > 0 && c == waits && !held;
    struct meta meta = explanation_meta(o);
    struct explanation_status s = {.state = str_of(finished   ? "Finished"
                                                   : leaves   ? "Stopping"
                                                   : admitted ? "Admitted"
                                                   : reserved ? "Reserved"
                                                   : held     ? "Held"
                                                              : "Waiting"),
                                   .job = by != NULL ? by->name : o->name,
                                   .local_queue = json_str_at(w, "spec.queueName"),
                                   .cluster_queue = cluster.n > 0 ? cluster : it->cluster,
                                   .priority = json_i64_at(w, "spec.priority", 0),
                                   .reason = json_str_at(c, "reason"),
                                   .computed_ns = now};
    struct buf line;
    buf_init(&line, LIMIT_CONDITION_MESSAGE);
    if (reserved && admitted == NULL && finished == NULL && leaves == NULL && why.n == 0) {
        checks_text(w, &line);
    }
    if (far) {
        buf_str(&line, why);
    } else if (line.n == 0 && message.n == 0) {
        buf_str(&line, held ? STR("spec.active is false") : STR("it has not been looked at yet"));
    }
    buf_c(&line, far && message.n > 0 ? "; what was written last: " : "");
    buf_str(&line, line.n == 0 || far ? message : STR(""));
    if (inactive.n > 0 && waits != NULL && str_starts(message, STR("ClusterQueue ")) &&
        str_ends(message, STR(" is inactive"))) {
        buf_f(&line, ": %.*s", STR_ARG(inactive));
    }
    if (leaves && it->awaits.n > 0) {
        buf_f(&line, "; awaits the end of %.*s", STR_ARG(it->awaits));
    }
    if (again.n > 0 && finished == NULL && admitted == NULL) {
        buf_f(&line, "; it is queued again at %.*s", STR_ARG(again));
    }
    buf_ch(&line, '\n');
    s.text = buf_view(&line);
    s.summary = str_head(s.text, s.text.n > 0 ? s.text.n - 1 : 0);
    codec_list_object(&kind_workload_explanation,
                      &(struct workload_explanation){.metadata = &meta, .status = &s}, out);
    buf_release(&line);
}

static int written(const struct explain_item *it, int64_t now, struct str why, struct buf *out) {
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, 64 << 20);
    int r = object_tree(it->obj, &a, &doc, NULL);
    if (r == 0) {
        written_explain(it, yyjson_doc_get_root(doc), now, why, out);
    }
    arena_release(&a);
    return r;
}

/* ---- the work ---- */

static int item_write(struct virtual_call *k, const struct explain_item *it) {
    if (it->part >= EXPLAIN_PARTS_MAX) {
        return written(it, k->now, (struct str){0}, &k->out);
    }
    struct explain_part *p = &k->parts[it->part];
    ptrdiff_t i = insight_find(p->s->in, it->obj->uid);
    size_t before = k->out.n;
    int r = i >= 0 ? insight_explain(p->s->in, (size_t)i, &p->v, !k->list, &k->out) : ERR_NOT_FOUND;
    if (r == ERR_NOT_FOUND) { /* admitted meanwhile, or too far back to be copied */
        k->out.n = before;
        char far[160];
        int n = snprintf(far, sizeof(far),
                         "it is one of %zu that stand too far back in their cohort tree to be "
                         "explained: there is no position and no estimate",
                         p->s->in->clone.pending_left_out);
        bool is_far = i < 0 && p->s->in->clone.pending_left_out > 0;
        r = written(it, k->now, str_from(far, is_far ? (size_t)n : 0), &k->out);
    }
    return r;
}

/* By queue and position; those that are in no queue come last. */
static int item_order(const void *a, const void *b) {
    const struct explain_item *x = a, *y = b;
    if (x->part != y->part) {
        return x->part < y->part ? -1 : 1;
    }
    if (x->at != y->at) {
        return x->at < y->at ? -1 : 1;
    }
    int by = str_cmp(x->obj->ns, y->obj->ns);
    return by != 0 ? by : str_cmp(x->obj->name, y->obj->name);
}

static void items_sort(struct virtual_call *k) {
    for (size_t i = 0; i < k->n_items; i++) {
        struct explain_item *it = &k->items[i];
        ptrdiff_t at = it->part < EXPLAIN_PARTS_MAX
                           ? insight_find(k->parts[it->part].s->in, it->obj->uid)
                           : -1;
        it->at = at < 0 ? SIZE_MAX : (size_t)at;
    }
    if (k->n_items > 1) {
        qsort(k->items, k->n_items, sizeof(*k->items), item_order);
    }
}

static void explain_work(void *ctx, const atomic_bool *stop) {
    struct virtual_call *k = ctx;
    int r = 0;
    for (size_t i = 0; i < k->n_parts && r == 0; i++) {
        insight_work(k->parts[i].s->in, stop);
        r = k->parts[i].s->in->code;
    }
    if (k->list) {
        items_sort(k);
        codec_list_begin_at("WorkloadExplanationList", STR("berth.dev"), STR("v1alpha1"),
                            k->revision, k->remaining, &k->out);
    }
    for (size_t i = 0; i < k->n_items && r == 0 && !atomic_load(stop); i++) {
        r = item_write(k, &k->items[i]);
    }
    if (k->list) {
        codec_list_end(&k->out);
    }
    if (r != 0) {
        k->code = err_set(&k->err, r == ERR_GONE ? ERR_UNAVAILABLE : r,
                          r == ERR_NOMEM ? "out of memory" : "the what-if run was stopped");
    }
}

/* ---- questions ---- */

/* The ClusterQueue in which the engine has it waiting, or empty. */
static struct str waits_in(const struct queue_explain *x, struct str uid) {
    const struct queue_work *q = map_get(&x->c->by_uid, uid);
    bool holds = false;
    if (q == NULL || q->local == NULL || q->local->cluster == NULL ||
        !engine_workload_known(x->c->engine, uid, &holds) || holds) {
        return (struct str){0};
    }
    return str_of(q->local->cluster);
}

/* The part of the question that is about this queue's tree; EXPLAIN_PARTS_MAX when there may be no more. */
static int part_of(struct virtual_call *k, const struct virtual_ask *q, struct str queue,
                   size_t *ret) {
    struct queue_explain *x = k->x;
    struct str key = clone_root(x->c->engine, queue, &k->arena);
    size_t copied = 0;
    for (size_t i = 0; i < k->n_parts; i++) {
        if (str_is(key, k->parts[i].s->key)) {
            *ret = i;
            return 0;
        }
        copied += k->parts[i].s->in->clone.n_works;
    }
    *ret = EXPLAIN_PARTS_MAX;
    if (k->n_parts == EXPLAIN_PARTS_MAX || copied >= EXPLAIN_COPY_MAX || str_empty(key)) {
        return 0;
    }
    struct explain_part *p = &k->parts[k->n_parts];
    int r = insight_of(x, queue, key, &p->s);
    if (r == 0) {
        *ret = k->n_parts++;
        r = explain_viewer(k, q, p->s->in, &p->v);
    }
    return r;
}

/* What is wrong with a ClusterQueue, without the beginning that all such messages have; empty: nothing. */
static struct str inactive(yyjson_val *queue) {
    const struct str head = STR("Can't admit new workloads");
    struct str text = json_str_at(condition_of(queue, "Active", "False"), "message");
    text = str_starts(text, head) ? str_skip(text, head.n) : (struct str){0};
    text = text.n > 2 ? str_skip(text, 2) : (struct str){0}; /* ": " or "; " */
    return str_ends(text, STR(".")) ? str_head(text, text.n - 1) : text;
}

/* The ClusterQueue of its LocalQueue, and what that says of itself when it is not active, as "is stopped"; many in a
 * row share them. */
static void outside(struct virtual_call *k, struct str uid, struct explain_item *it) {
    const struct queue_controller *c = k->x->c;
    const struct queue_work *q = map_get(&c->by_uid, uid);
    struct str name = q != NULL && q->local != NULL && q->local->cluster != NULL
                          ? str_of(q->local->cluster)
                          : (struct str){0};
    const struct object *o =
        name.n > 0
            ? mirror_get(c->env->mirror, c->base.kinds[QK_CLUSTER_QUEUE], (struct str){0}, name)
            : NULL;
    yyjson_doc *doc;
    if (o == NULL) {
        return;
    }
    if (!str_eq(name, k->cluster)) {
        k->cluster = arena_str(&k->arena, name);
        k->inactive = (struct str){0};
        if (object_tree(o, &k->arena, &doc, NULL) == 0) {
            k->inactive = inactive(yyjson_doc_get_root(doc));
        }
    }
    it->cluster = k->cluster;
    it->inactive = k->inactive;
}

static int item_add(struct virtual_call *k, const struct virtual_ask *q, const struct object *o) {
    struct str queue = waits_in(k->x, o->uid);
    size_t part = EXPLAIN_PARTS_MAX;
    int r = str_empty(queue) ? 0 : part_of(k, q, queue, &part);
    if (r == 0) {
        struct explain_item *it = &k->items[k->n_items++];
        *it = (struct explain_item){.obj = object_ref(o), .part = part};
        if (str_empty(queue)) {
            outside(k, o->uid, it);
            it->awaits = k->list ? it->awaits : awaited(k->x->c, o, &k->arena);
        }
    }
    return r;
}

/* All that wait in the LocalQueues of a namespace, or everywhere. */
static int list_add(struct virtual_call *k, const struct virtual_ask *q, size_t limit) {
    struct queue_controller *c = k->x->c;
    size_t at = 0, visited = 0;
    int r = 0;
    for (const struct map_entry *e; r == 0 && (e = map_next(&c->locals, &at)) != NULL;) {
        const struct local_state *l = e->value;
        if (q->ns.n > 0 && !str_eq(q->ns, l->ns)) {
            continue;
        }
        for (const struct queue_work *w = l->works; r == 0 && w != NULL; w = w->next) {
            if (++visited > VISITED_MAX) {
                return 0;
            }
            const struct object *o = w->state == QW_PENDING || w->state == QW_IDLE
                                         ? mirror_by_uid(c->env->mirror, w->uid)
                                         : NULL;
            if (o == NULL || str_contains(o->json, STR("\"type\":\"Finished\""))) {
                continue;
            }
            if (k->n_items == limit) {
                k->remaining++;
            } else {
                r = item_add(k, q, o);
            }
        }
    }
    return r;
}

static int gather(struct virtual_call *k, const struct virtual_ask *q) {
    int64_t limit = EXPLAIN_ITEMS_MAX, wanted;
    if (str_to_i64(virtual_param(q, "limit"), &wanted) && wanted > 0 && wanted < limit) {
        limit = wanted;
    }
    k->list = strcmp(q->verb, "list") == 0;
    k->items = ARENA_ARRAY(&k->arena, struct explain_item, k->list ? (size_t)limit : 1);
    if (k->items == NULL) {
        return ERR_NOMEM;
    }
    if (k->list) {
        return list_add(k, q, (size_t)limit);
    }
    const struct object *o =
        mirror_get(k->x->c->env->mirror, k->x->c->base.kinds[QK_WORKLOAD], q->ns, q->name);
    return o != NULL ? item_add(k, q, o) : ERR_NOT_FOUND;
}

static int why_ask(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                   void *ctx, struct virtual_call **ret, struct err *err) {
    struct queue_explain *x =
        (struct queue_explain *)((char *)s - offsetof(struct queue_explain, why));
    struct virtual_call *k = explain_call_new(x, q, done, ctx);
    int r = k != NULL ? gather(k, q) : ERR_NOMEM;
    if (r != 0) {
        explain_call_free(k);
        return r == ERR_NOT_FOUND
                   ? err_set(err, r, "workloads \"%.*s\" not found", STR_ARG(q->name))
                   : err_set(err, r, "out of memory");
    }
    return explain_call_start(k, explain_work, ret, err);
}

/* ---- run times ---- */

static bool says_finished(const struct object *o) {
    return o != NULL && str_contains(o->json, STR("\"type\":\"Finished\""));
}

/* What its owner, where it has one that is still there, declares. */
static int64_t declared_of(const struct queue_explain *x, const struct object *o, yyjson_val *w,
                           struct arena *a) {
    const struct owner_ref *ref = object_controller(o);
    const struct object *by = ref != NULL ? mirror_owner(x->c->env->mirror, o->ns, ref) : NULL;
    yyjson_doc *doc = NULL;
    if (by != NULL && object_tree(by, a, &doc, NULL) != 0) {
        return 0;
    }
    return insight_declared(w, doc != NULL ? yyjson_doc_get_root(doc) : NULL);
}

static void note_finished(struct queue_explain *x, const struct object *o) {
    struct arena a;
    yyjson_doc *doc;
    arena_init(&a, 8 << 20);
    if (object_tree(o, &a, &doc, NULL) == 0) {
        yyjson_val *w = yyjson_doc_get_root(doc);
        int64_t from = insight_since(w, "Admitted"), to = insight_since(w, "Finished");
        yyjson_val *end = condition_of(w, "Finished", "True");
        struct run_times_of of = insight_alike(o, json_str_at(w, "spec.queueName"));
        if (from > 0 && to >= from && !str_is(json_str_at(end, "reason"), "Failed")) {
            run_times_note(x->times, &of, to - from);
            run_times_note_declared(x->times, &of, to - from, declared_of(x, o, w, &a));
        }
    }
    arena_release(&a);
}

/* What was said of its start is held against what came, once it has quota. */
static void note_start(struct queue_explain *x, const struct change *ch) {
    struct str uid = ch->obj->uid;
    if (hindsight_told(x->hindsight, uid).at == 0) {
        return;
    }
    if (ch->type == CHANGE_DELETED || says_finished(ch->obj) ||
        str_contains(ch->obj->json, STR("\"active\":false"))) {
        hindsight_gone(x->hindsight, uid);
    } else if (str_contains(ch->obj->json, STR("\"admission\":{"))) {
        hindsight_started(x->hindsight, uid, clock_wall(x->c->env->clock));
    }
}

/* At most so many in a second: a median needs no more, and others have work to do. */
static void on_workload(void *ctx, const struct change *ch) {
    struct queue_explain *x = ctx;
    note_start(x, ch);
    if (ch->type == CHANGE_DELETED || !says_finished(ch->obj) || says_finished(ch->old)) {
        return;
    }
    int64_t second = clock_mono(x->c->env->clock) / NS_PER_SEC;
    x->finished = second == x->second ? x->finished + 1 : 0;
    x->second = second;
    if (x->finished < EXPLAIN_FINISHED_PER_S) {
        note_finished(x, ch->obj);
    }
}

static bool on_scan(void *ctx, const struct object *o) {
    struct queue_explain *x = ctx;
    if (says_finished(o)) {
        note_finished(x, o);
        x->finished++;
    }
    return x->finished < SCAN_MAX;
}

/* ---- life ---- */

struct queue_explain *queue_explain_new(struct queue_controller *c) {
    struct queue_explain *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return NULL;
    }
    x->c = c;
    x->why = (struct virtual_source){.group = "berth.dev",
                                     .resource = "workloadexplanations",
                                     .subresource = "",
                                     .ask = why_ask,
                                     .cancel = call_cancel};
    x->preview = (struct virtual_source){.group = "berth.dev",
                                         .resource = "queuepreviews",
                                         .subresource = "",
                                         .ask = preview_ask,
                                         .cancel = call_cancel};
    x->times = run_times_new();
    x->hindsight = hindsight_new();
    x->feed = mirror_feed(c->env->mirror, c->base.kinds[QK_WORKLOAD], on_workload, x);
    if (x->times == NULL || x->hindsight == NULL || x->feed == NULL) {
        queue_explain_free(x);
        return NULL;
    }
    mirror_scan(c->env->mirror, c->base.kinds[QK_WORKLOAD], (struct str){0}, on_scan, x);
    x->finished = 0;
    if (c->env->virtuals != NULL) {
        virtual_add(c->env->virtuals, &x->why);
        virtual_add(c->env->virtuals, &x->preview);
    }
    return x;
}

void queue_explain_free(struct queue_explain *x) {
    if (x == NULL) {
        return;
    }
    if (x->c->env->virtuals != NULL) {
        virtual_remove(x->c->env->virtuals, &x->why);
        virtual_remove(x->c->env->virtuals, &x->preview);
    }
    while (x->calls != NULL) {
        struct virtual_call *k = x->calls;
        struct err err = {0};
        bool waits = !k->cancelled;
        x->c->env->offload->cancel(x->c->env->offload, k->job);
        k->cancelled = true;
        call_leave(k); /* freed when the worker is done with it */
        if (waits) {
            err_set(&err, ERR_UNAVAILABLE, "the controllers are stopping");
            k->done(k->ctx, ERR_UNAVAILABLE, (struct str){0}, &err);
        }
    }
    if (x->feed != NULL) {
        feed_free(x->feed);
    }
    while (x->insights != NULL) {
        struct shared_insight *s = x->insights;
        x->insights = s->next;
        insight_leave(s);
    }
    run_times_free(x->times);
    hindsight_free(x->hindsight);
    mem_free(x);
}

/*
 * queue_preview_stopped: Workloads that an edit could bring into a queue and that wait in none today: their
 * ClusterQueue or LocalQueue is stopped, missing or inactive. They are added to a preview's insight as workloads
 * without a queue.
 */
#include "control/see/explain_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"

enum { MORE_MAX = 500 };

struct adding {
    struct virtual_call *k;
    struct preview_more *v;
    const struct object **objects;
    struct workload_input *inputs;
    size_t n, left_out;
};

static bool among(struct str name, const struct str *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (str_eq(v[i], name)) {
            return true;
        }
    }
    return false;
}

/* Could it be queued, were its queues open? What keeps it out is on the object itself otherwise. */
static bool could_wait(const struct workload *w) {
    bool over = w->status != NULL && conditions_true(&w->status->conditions, "Finished");
    bool holds = w->status != NULL && conditions_true(&w->status->conditions, "QuotaReserved");
    bool off = w->spec == NULL || (w->spec->active.set && !w->spec->active.v);
    bool later = w->status != NULL && w->status->requeue_state != NULL &&
                 w->status->requeue_state->requeue_at_ns > 0;
    return !over && !holds && !off && !later &&
           str_empty(meta_annotation(w->metadata, "kueue.x-k8s.io/admission-gated-by"));
}

static int add(struct adding *x, const struct local_state *l, const struct object *o) {
    struct queue_controller *c = x->k->x->c;
    struct arena *a = &x->k->arena;
    const struct schema *s = kind_storage(o->kind)->schema;
    struct str cluster = arena_str(a, str_of(l->cluster));
    const struct cluster_state *cq = map_get(&c->clusters, cluster);
    yyjson_doc *doc;
    struct workload *w = arena_zalloc(a, s->size);
    if (w == NULL || object_tree(o, a, &doc, NULL) != 0 ||
        codec_decode(s, yyjson_doc_get_root(doc), a, w, NULL) != 0) {
        return ERR_NOMEM;
    }
    if (!could_wait(w)) {
        return 0;
    }
    if (x->n == MORE_MAX) {
        x->left_out++;
        return 0;
    }
    int r = translate_workload_with(w, (struct str){0}, c->settings, cq != NULL && cq->covers_pods,
                                    a, &x->inputs[x->n]);
    if (r == 0) {
        x->objects[x->n] = o;
        x->v[x->n++] =
            (struct preview_more){.cluster = cluster, .stopped = l->stopped || !l->exists};
    }
    return r;
}

/* Those of one LocalQueue that the engine does not know. */
static int add_local(struct adding *x, const struct local_state *l) {
    struct queue_controller *c = x->k->x->c;
    int r = 0;
    for (const struct queue_work *q = l->works; q != NULL && r == 0; q = q->next) {
        bool holds;
        const struct object *o = engine_workload_known(c->engine, q->uid, &holds)
                                     ? NULL
                                     : mirror_by_uid(c->env->mirror, q->uid);
        if (x->left_out > 0) {
            x->left_out += o != NULL;
        } else {
            r = o != NULL ? add(x, l, o) : 0;
        }
    }
    return r;
}

int preview_more(struct virtual_call *k, struct insight *in, const struct str *queues, size_t n,
                 struct preview_more **ret, size_t *ret_n, size_t *ret_left_out) {
    struct adding x = {.k = k,
                       .v = ARENA_ARRAY(&k->arena, struct preview_more, MORE_MAX),
                       .objects = ARENA_ARRAY(&k->arena, const struct object *, MORE_MAX),
                       .inputs = ARENA_ARRAY(&k->arena, struct workload_input, MORE_MAX)};
    int r = x.v != NULL && x.objects != NULL && x.inputs != NULL ? 0 : ERR_NOMEM;
    size_t at = 0, first = in->clone.n_works;
    for (const struct map_entry *e; r == 0 && (e = map_next(&k->x->c->locals, &at)) != NULL;) {
        const struct local_state *l = e->value;
        if (l->cluster != NULL && among(str_of(l->cluster), queues, n)) {
            r = add_local(&x, l);
        }
    }
    if (r == 0) {
        r = insight_extend(in, x.objects, x.inputs, x.n);
    }
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < x.n; i++) {
        x.v[i].at = first + i;
    }
    *ret = x.v;
    *ret_n = x.n;
    *ret_left_out = x.left_out;
    return 0;
}

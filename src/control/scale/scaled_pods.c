/* scaled_pods: from the mirror, and from the registry of what is computed. */
#include "control/scale/scaled_pods.h"

#include "api/schema/codec.h"
#include "api/selector.h"
#include "api/tables/view_core.h"
#include "api/usage_view.h"
#include "wire/text/time.h"

struct scaled_pods_reader {
    struct arena *a;
    struct selector selector;
    struct scaled_pods *out;
    int code;
};

static size_t copy_containers(const struct container_list *l, bool init, struct hpa_container *v) {
    for (size_t i = 0; i < l->n; i++) {
        const struct container *c = &l->v[i];
        v[i] = (struct hpa_container){
            .name = c->name, .init = init, .sidecar = init && str_is(c->restart_policy, "Always")};
        if (c->resources != NULL) {
            v[i].requests = c->resources->requests;
        }
    }
    return l->n;
}

static void set_ready(struct hpa_pod *p, const struct condition_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        const struct condition *c = &l->v[i];
        if (str_is(c->type, "Ready")) {
            p->ready = str_is(c->status, "True")    ? HPA_READY_TRUE
                       : str_is(c->status, "False") ? HPA_READY_FALSE
                                                    : HPA_READY_UNKNOWN;
            p->ready_since_ns = c->last_transition_ns;
            return;
        }
    }
}

static int read_pod(struct scaled_pods_reader *r, const struct object *o, struct hpa_pod *ret) {
    struct pod *pod = ARENA_NEW(r->a, struct pod);
    yyjson_doc *d;
    int rc = pod == NULL ? ERR_NOMEM : object_tree(o, r->a, &d, NULL);
    rc = rc ? rc : codec_decode(&schema_pod, yyjson_doc_get_root(d), r->a, pod, NULL);
    if (rc != 0 || pod->spec == NULL || pod->metadata == NULL) {
        return rc ? rc : ERR_INVALID;
    }
    const struct pod_spec *s = pod->spec;
    struct hpa_container *v =
        ARENA_ARRAY(r->a, struct hpa_container, s->containers.n + s->init_containers.n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    *ret = (struct hpa_pod){.name = pod->metadata->name,
                            .labels = &pod->metadata->labels,
                            .deleted = o->deleting_ns != 0,
                            .containers = v,
                            .requests = s->resources != NULL ? &s->resources->requests : NULL};
    ret->n_containers = copy_containers(&s->containers, false, v);
    ret->n_containers += copy_containers(&s->init_containers, true, v + ret->n_containers);
    if (pod->status != NULL) {
        ret->phase = pod->status->phase;
        ret->started = pod->status->start_ns != 0;
        ret->start_ns = pod->status->start_ns;
        set_ready(ret, &pod->status->conditions);
    }
    return 0;
}

static bool add_pod(void *ctx, const struct object *o) {
    struct scaled_pods_reader *r = ctx;
    struct hpa_pod pod;
    if (!selector_matches(&r->selector, &o->labels)) {
        return true;
    }
    int rc = read_pod(r, o, &pod);
    if (rc == 0 && r->out->n == r->out->cap && ARENA_GROW(r->a, r->out->v, r->out->cap) != 0) {
        rc = ERR_NOMEM;
    }
    if (rc == 0) {
        r->out->v[r->out->n++] = pod;
    }
    r->code = rc == ERR_NOMEM ? rc : r->code;
    return r->code == 0;
}

int scaled_pods_read(const struct control_env *env, const struct kind *pods, struct str ns,
                     struct str selector, struct arena *a, struct scaled_pods *ret) {
    struct scaled_pods_reader r = {.a = a, .out = ret};
    *ret = (struct scaled_pods){0};
    if (selector.n == 0 || selector_parse(a, selector, &r.selector, NULL) != 0) {
        return 0;
    }
    mirror_scan(env->mirror, pods, ns, add_pod, &r);
    return r.code;
}

/* ---- what they use ---- */

#define NO_METRICS "the server could not find the requested resource (get pods.metrics.k8s.io)"

struct scaled_pods_answer {
    struct arena *a;
    struct hpa_use *use;
    bool there;
};

static void copy_use(struct hpa_pod_use *to, const struct pod_metrics *m, struct arena *a) {
    struct hpa_container_use *v = ARENA_ARRAY(a, struct hpa_container_use, m->containers.n + 1);
    *to = (struct hpa_pod_use){.pod = m->metadata->name, .at_ns = m->timestamp_ns, .containers = v};
    (void)duration_parse(m->window, &to->window_ns, NULL);
    for (size_t i = 0; v != NULL && i < m->containers.n; i++) {
        v[to->n++] = (struct hpa_container_use){m->containers.v[i].name, m->containers.v[i].usage};
    }
}

static int read_items(struct scaled_pods_answer *w, struct str json, struct err *err) {
    const struct kind *k = kind_by_name(STR("metrics.k8s.io"), STR("PodMetrics"));
    yyjson_doc *d;
    int rc = json_parse(w->a, arena_str(w->a, json), &d, err);
    yyjson_val *items = rc == 0 ? json_get(yyjson_doc_get_root(d), STR("items")) : NULL;
    size_t n = yyjson_arr_size(items);
    struct hpa_pod_use *v = ARENA_ARRAY(w->a, struct hpa_pod_use, n + 1);
    rc = rc ? rc : v == NULL || k == NULL ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct pod_metrics m;
        rc = codec_decode(k->versions[0].schema, yyjson_arr_get(items, i), w->a, &m, err);
        if (rc == 0 && m.metadata != NULL) {
            copy_use(&v[w->use->n++], &m, w->a);
        }
    }
    w->use->v = v;
    return rc;
}

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct scaled_pods_answer *w = ctx;
    struct err wrong = {0};
    w->there = true;
    if (code == 0) {
        code = read_items(w, json, &wrong);
        err = &wrong;
    }
    if (code != 0) {
        w->use->error = arena_f(w->a, "%s", err != NULL ? err->text : "no answer");
    }
}

void scaled_pods_use(const struct control_env *env, struct str ns, struct str selector,
                     struct arena *a, struct hpa_use *ret) {
    const struct kind *k = kind_by_name(STR("metrics.k8s.io"), STR("PodMetrics"));
    struct virtual_source *s =
        env->virtuals != NULL
            ? virtual_find(env->virtuals, STR("metrics.k8s.io"), STR("pods"), STR(""))
            : NULL;
    struct virtual_param labels = {STR("labelSelector"), selector};
    struct scaled_pods_answer w = {.a = a, .use = ret};
    struct virtual_call *call = NULL;
    struct err err = {0};
    *ret = (struct hpa_use){0};
    if (s == NULL || k == NULL) {
        ret->error = STR(NO_METRICS);
        return;
    }
    struct virtual_ask q = {.verb = "list",
                            .kind = k,
                            .version = str_of(k->versions[0].version),
                            .ns = ns,
                            .query = &labels,
                            .n_query = 1};
    int rc = s->ask(s, &q, answered, &w, &call, &err);
    if (rc != 0) {
        ret->error = arena_f(a, "%s", err.text);
    } else if (!w.there) {
        s->cancel(s, call);
        ret->error = STR("the server is currently unable to handle the request (get "
                         "pods.metrics.k8s.io)");
    }
}

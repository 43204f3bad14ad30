/* serve_read: what a service asks for: its runtime, its hardware, and the template that comes of them. */
#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/serve/serve_private.h"
#include "core/serve/runtime_choice.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { RUNTIMES_MAX = 1024, RUNTIMES_BYTES_MAX = 4 << 20 /* each service reads them all */ };
_Static_assert((int)MODEL_NAME_MAX == (int)SERVE_NAME_MAX, "names are checked when written");

static int fault(struct serve_look *l, const char *reason, const char *text) {
    l->fault = reason;
    l->fault_text = arena_str(l->a, str_of(text));
    return arena_ok(l->a);
}

/* ---- the runtime ---- */

struct runtimes_found {
    struct serve_look *l;
    struct serving_runtime *v;
    yyjson_val **specs;
    size_t n, bytes;
    bool cluster, over;
    int code;
};

static void read_formats(struct arena *a, yyjson_val *list, struct serving_runtime *r) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    struct runtime_format *v = ARENA_ARRAY(a, struct runtime_format, yyjson_arr_size(list) + 1);
    yyjson_val *f;
    while (v != NULL && (f = yyjson_arr_iter_next(&it)) != NULL) {
        v[r->n_formats++] = (struct runtime_format){
            .name = json_str_at(f, "name"),
            .version = json_str_at(f, "version"),
            .auto_select = json_bool_at(f, "autoSelect", false),
            .priority = (int32_t)json_i64_at(f, "priority", 0),
        };
    }
    r->formats = v;
}

static void read_protocols(struct arena *a, yyjson_val *list, struct serving_runtime *r) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    struct str *v = ARENA_ARRAY(a, struct str, yyjson_arr_size(list) + 1);
    yyjson_val *p;
    while (v != NULL && (p = yyjson_arr_iter_next(&it)) != NULL) {
        v[r->n_protocols++] = json_str(p);
    }
    r->protocols = v;
}

static bool add_runtime(void *ctx, const struct object *o) {
    struct runtimes_found *f = ctx;
    yyjson_doc *d;
    f->bytes += o->json.n;
    f->over = f->over || f->n == RUNTIMES_MAX || f->bytes > RUNTIMES_BYTES_MAX;
    if (f->over) {
        return false;
    }
    f->code = object_tree(o, f->l->a, &d, NULL);
    if (f->code != 0) {
        return false;
    }
    yyjson_val *spec = json_path(yyjson_doc_get_root(d), "spec");
    struct serving_runtime *r = &f->v[f->n];
    *r = (struct serving_runtime){
        .name = o->name,
        .cluster = f->cluster,
        .disabled = json_bool_at(spec, "disabled", false),
        .multi_model = json_bool_at(spec, "multiModel", false),
        .created_ns = o->created_ns,
    };
    read_formats(f->l->a, json_get(spec, STR("supportedModelFormats")), r);
    read_protocols(f->l->a, json_get(spec, STR("protocolVersions")), r);
    f->specs[f->n++] = spec;
    return arena_ok(f->l->a) == 0;
}

static int find_runtimes(struct runtimes_found *f) {
    struct serve_look *l = f->l;
    struct mirror *m = l->c->base.env.mirror;
    f->v = ARENA_ARRAY(l->a, struct serving_runtime, RUNTIMES_MAX);
    f->specs = ARENA_ARRAY(l->a, yyjson_val *, RUNTIMES_MAX);
    for (int cluster = 0; arena_ok(l->a) == 0 && cluster < 2 && !f->over; cluster++) {
        const struct kind *k = l->c->base.kinds[cluster ? SERVE_CLUSTER_RUNTIMES : SERVE_RUNTIMES];
        f->cluster = cluster != 0;
        if (k != NULL && f->code == 0) {
            mirror_scan(m, k, cluster ? STR("") : l->obj->ns, add_runtime, f);
        }
    }
    return f->code ? f->code : arena_ok(l->a);
}

/* *ret: the runtime's spec; NULL: there is a fault. */
static int choose_runtime(struct serve_look *l, const struct runtime_wish *wish, yyjson_val **ret) {
    struct runtimes_found f = {.l = l};
    struct err err = {0};
    size_t at;
    int r = find_runtimes(&f);
    *ret = NULL;
    if (r != 0) {
        return r;
    }
    if (f.over) {
        return fault(l, "RuntimeNotRecognized",
                     "there are too many serving runtimes to choose from: expected at most 1024, "
                     "and 4 MiB of them, in the namespace and the cluster");
    }
    r = runtime_choice(f.v, f.n, wish, &at, &err);
    if (r != 0) {
        const char *reason = runtime_choice_reason(r);
        return reason == NULL ? r : fault(l, reason, err.text);
    }
    l->runtime = f.v[at].name;
    l->cluster_runtime = f.v[at].cluster;
    *ret = f.specs[at];
    return 0;
}

/* ---- hardware ---- */

static struct str amount_text(struct arena *a, yyjson_val *v) {
    return yyjson_is_int(v) ? arena_f(a, "%lld", (long long)yyjson_get_sint(v)) : json_str(v);
}

static int read_amounts(struct serve_look *l, yyjson_val *list, struct serve_hardware *h) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    struct str_pair *v = ARENA_ARRAY(l->a, struct str_pair, yyjson_arr_size(list) + 1);
    yyjson_val *x;
    while (v != NULL && (x = yyjson_arr_iter_next(&it)) != NULL) {
        v[h->n_amounts++] = (struct str_pair){json_str_at(x, "identifier"),
                                              amount_text(l->a, json_get(x, STR("defaultCount")))};
    }
    h->amounts = v;
    return arena_ok(l->a);
}

/* A profile of the service's own namespace: another's would give what its author may not have. */
static int read_hardware(struct serve_look *l, struct serve_hardware *h) {
    struct str name = meta_annotation(l->view.metadata, SERVE_PROFILE);
    struct str ns = meta_annotation(l->view.metadata, SERVE_PROFILE_NS);
    yyjson_doc *d;
    if (name.n == 0) {
        return 0;
    }
    if (ns.n > 0 && !str_eq(ns, l->obj->ns)) {
        return fault(l, "InvalidPredictorSpec",
                     "annotation " SERVE_PROFILE_NS ": expected the service's own namespace");
    }
    const struct object *o = serve_get(l, SERVE_PROFILES, l->obj->ns, name);
    if (o == NULL) {
        return fault(l, "InvalidPredictorSpec",
                     arena_f(l->a,
                             "HardwareProfile \"%.*s\" of annotation " SERVE_PROFILE
                             " is not in the namespace",
                             STR_ARG(str_head(name, 253)))
                         .p);
    }
    int r = object_tree(o, l->a, &d, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *spec = json_path(yyjson_doc_get_root(d), "spec");
    yyjson_val *kueue = json_path(spec, "scheduling.kueue");
    h->node_selector = json_path(spec, "scheduling.node.nodeSelector");
    h->tolerations = json_path(spec, "scheduling.node.tolerations");
    l->queue = l->queue.n > 0 ? l->queue : json_str_at(kueue, "localQueueName");
    l->class = l->class.n > 0 ? l->class : json_str_at(kueue, "priorityClass");
    return read_amounts(l, json_get(spec, STR("identifiers")), h);
}

/* ---- fields that nobody acts on ---- */

/* One that a HorizontalPodAutoscaler acts on. */
static bool is_scaled_by(const struct serve_look *l, const char *field) {
    bool by = serve_scales_by(json_str_at(l->spec, "predictor.scaleMetric"));
    return l->c->base.kinds[SERVE_SCALERS] != NULL &&
           ((by && strncmp(field, "predictor.scale", 15) == 0) ||
            strcmp(field, "predictor.autoScaling") == 0);
}

static void note_ignored(struct serve_look *l) {
    static const char *const of_services[] = {
        "predictor.scaleMetric", "predictor.scaleMetricType",      "predictor.scaleTarget",
        "predictor.autoScaling", "predictor.containerConcurrency", "predictor.timeout"};
    static const char *const of_llms[] = {"router", "model.criticality", "scaling.keda",
                                          "scaling.wva", "parallelism.dataRPCPort"};
    const char *const *v = l->llm ? of_llms : of_services;
    size_t n = l->llm ? COUNT(of_llms) : COUNT(of_services);
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < n; i++) {
        if (json_path(l->spec, v[i]) != NULL && !is_scaled_by(l, v[i])) {
            buf_f(&b, "%sspec.%s", b.n ? ", " : "", v[i]);
        }
    }
    l->ignored = b.n ? arena_str(l->a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
}

/* ---- the template ---- */

/* The label `app`, which tells revisions apart, is serve_make's. */
static struct str_map labels_of(struct serve_look *l) {
    struct str_pair *p = ARENA_ARRAY(l->a, struct str_pair, 4);
    if (p == NULL) {
        return (struct str_map){0};
    }
    if (l->llm) {
        p[0] = (struct str_pair){STR(SERVE_LLM_NAME), l->obj->name};
        p[1] = (struct str_pair){STR("app.kubernetes.io/component"), STR(SERVE_LLM "-workload")};
        p[2] = (struct str_pair){STR(SERVE_LLM_PART), STR(SERVE_LLM)};
        p[3] = (struct str_pair){STR("kserve.io/component"), STR("workload")};
        return (struct str_map){p, 4};
    }
    p[0] = (struct str_pair){STR(SERVE_LABEL_SERVICE), l->obj->name};
    p[1] = (struct str_pair){STR(SERVE_LABEL_COMPONENT), STR("predictor")};
    return (struct str_map){p, 2};
}

/* What an LLMInferenceService says in fields, in vLLM's arguments. */
static size_t llm_args(struct serve_look *l, struct str ret[static 4]) {
    size_t n = 0;
    long long tensor = (long long)json_i64_at(l->spec, "parallelism.tensor", 1);
    struct str name = json_str_at(l->spec, "model.name");
    if (name.n > 0) {
        ret[n++] = arena_f(l->a, "--served-model-name=%.*s", STR_ARG(name));
    }
    if (tensor > 1) {
        ret[n++] = arena_f(l->a, "--tensor-parallel-size=%lld", tensor);
    }
    if (json_bool_at(l->spec, "parallelism.expert", false)) {
        ret[n++] = STR("--enable-expert-parallel");
    }
    return n;
}

static yyjson_val *named(yyjson_val *list, const char *name) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(v, "name"), name)) {
            return v;
        }
    }
    return NULL;
}

static int make_template(struct serve_look *l, yyjson_val *runtime,
                         const struct serve_hardware *h) {
    struct str args[4];
    struct err err = {0};
    struct serve_pod_of of = {
        .runtime = runtime,
        .pod = l->pod,
        .server = l->server,
        .server_name = l->llm ? STR("main") : (struct str){0},
        .version = json_str_at(l->server, "runtimeVersion"),
        .uri = l->uri,
        .args = args,
        .n_args = l->llm ? llm_args(l, args) : 0,
        .labels = labels_of(l),
        .meta = {.name = l->obj->name,
                 .namespace = l->obj->ns,
                 .labels = &l->view.metadata->labels,
                 .annotations = &l->view.metadata->annotations},
        .hardware = *h,
    };
    l->doc = json_mut_new(l->a);
    if (l->doc == NULL) {
        return ERR_NOMEM;
    }
    int r = serve_pod(&of, l->doc, &l->template, &l->target_port, &err);
    return r == ERR_INVALID ? fault(l, "InvalidPredictorSpec", err.text) : r;
}

/* A digest of what is written whole. */
static int make_intent(struct serve_look *l) {
    struct buf b;
    buf_init(&b, 2 * LIMIT_OBJECT_BYTES);
    json_write_mut(&b, l->template);
    buf_f(&b, "|%.*s|%.*s|", STR_ARG(l->queue), STR_ARG(l->class));
    yyjson_val *strategy = json_path(l->spec, "predictor.deploymentStrategy");
    if (strategy != NULL) {
        json_write(&b, strategy);
    }
    l->intent = arena_f(l->a, "%016llx", (unsigned long long)str_hash(buf_view(&b)));
    int r = buf_ok(&b);
    buf_release(&b);
    return r;
}

static struct runtime_wish wish_of(const struct serve_look *l) {
    if (l->llm) {
        return (struct runtime_wish){.format = STR("vLLM")};
    }
    return (struct runtime_wish){
        .format = json_str_at(l->server, "modelFormat.name"),
        .version = json_str_at(l->server, "modelFormat.version"),
        .protocol = json_str_at(l->server, "protocolVersion"),
        .runtime = json_str_at(l->server, "runtime"),
    };
}

int serve_read(struct serve_look *l) {
    struct serve_hardware hardware = {0};
    yyjson_val *runtime = NULL;
    l->pod = json_path(l->spec, l->llm ? "template" : "predictor");
    l->server = l->llm ? named(json_get(l->pod, STR("containers")), "main")
                       : json_get(l->pod, STR("model"));
    l->uri = json_str_at(l->spec, l->llm ? "model.uri" : "predictor.model.storageUri");
    l->queue = object_label(l->obj, STR(SERVE_QUEUE_LABEL));
    l->class = object_label(l->obj, STR(SERVE_CLASS_LABEL));
    note_ignored(l);
    int r = read_hardware(l, &hardware);
    if (r == 0 && l->fault == NULL && (l->llm || l->server != NULL)) {
        struct runtime_wish wish = wish_of(l);
        r = choose_runtime(l, &wish, &runtime);
    }
    r = r || l->fault ? r : make_template(l, runtime, &hardware);
    r = r || l->fault ? r : make_intent(l);
    return r ? r : arena_ok(l->a);
}

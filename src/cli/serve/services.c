/* services: `berth services`: the served models, their state, and why one waits. */
#include "cli/kit/kit.h"
#include "cli/kit/table.h"

#define KSERVE_V1BETA1 "serving.kserve.io/v1beta1"
#define KSERVE_V1ALPHA1 "serving.kserve.io/v1alpha1"

struct services_list {
    struct cli *c;
    struct str ns; /* empty: all projects */
    yyjson_val *services, *llms, *deployments, *why;
};

/* ---- state ---- */

/* Of a server that runs: it loads its weights, or nothing outside of its pod can ever reach it. */
#define NOT_READY                                                                                  \
    "the server is not ready; it has to listen on all addresses of its pod, not on loopback alone"

struct service_state {
    const char *word;
    enum table_style style;
    struct str why;
};

static struct str part(yyjson_val *o, const char *type, const char *member) {
    return json_str_at(cli_condition(o, type), member);
}

static struct service_state state_of(yyjson_val *o) {
    struct str reason = part(o, "PredictorReady", "reason");
    struct str target = json_str_at(o, "status.modelStatus.states.targetModelState");
    struct str message = part(o, "PredictorReady", "message");
    struct str failure = json_str_at(o, "status.modelStatus.lastFailureInfo.message");
    if (cli_condition_true(o, "Stopped")) {
        return (struct service_state){"stopped", STYLE_DIM, {0}};
    }
    if (str_is(reason, "ScaledToZero")) {
        return (struct service_state){"at zero", STYLE_DIM, {0}};
    }
    if (str_is(target, "FailedToLoad") || str_is(reason, "Refused")) {
        return (struct service_state){"failed", STYLE_BAD, failure.n ? failure : message};
    }
    if (str_is(reason, "Queued")) {
        return (struct service_state){"queued", STYLE_WAIT, message};
    }
    if (cli_condition_true(o, "Ready")) {
        return (struct service_state){"ready", STYLE_GOOD, {0}};
    }
    bool loading = str_is(target, "Loading"), bare = str_is(reason, "MinimumReplicasUnavailable");
    return (struct service_state){loading ? "loading" : "starting", STYLE_WAIT,
                                  !bare     ? message
                                  : loading ? STR(NOT_READY)
                                            : (struct str){0}};
}

/* ---- what belongs to it ---- */

static bool is_llm(yyjson_val *o) {
    return json_path(o, "spec.predictor") == NULL;
}

static struct str deployment_of(struct cli *c, yyjson_val *o, bool llm) {
    return arena_f(&c->arena, "%.*s-%s", STR_ARG(json_str_at(o, "metadata.name")),
                   llm ? "kserve" : "predictor");
}

static struct str replicas_of(const struct services_list *l, yyjson_val *o, bool llm) {
    struct str name = deployment_of(l->c, o, llm), ns = json_str_at(o, "metadata.namespace");
    yyjson_val *d;
    size_t i, n;
    yyjson_arr_foreach(json_get(l->deployments, STR("items")), i, n, d) {
        if (str_eq(json_str_at(d, "metadata.name"), name) &&
            str_eq(json_str_at(d, "metadata.namespace"), ns)) {
            return arena_f(&l->c->arena, "%lld/%lld",
                           (long long)json_i64_at(d, "status.readyReplicas", 0),
                           (long long)json_i64_at(d, "spec.replicas", 0));
        }
    }
    return STR("-");
}

/* The first of its pods in the line, as the server explains it: "position 2, starts in 5m: ...". */
static struct str line_of(const struct services_list *l, yyjson_val *o, bool llm, struct str why) {
    struct str prefix = arena_f(&l->c->arena, "%.*s-", STR_ARG(deployment_of(l->c, o, llm)));
    struct str ns = json_str_at(o, "metadata.namespace");
    yyjson_val *x, *best = NULL;
    size_t i, n;
    yyjson_arr_foreach(json_get(l->why, STR("items")), i, n, x) {
        int64_t at = json_i64_at(x, "status.position.clusterQueue", 0);
        if (str_eq(json_str_at(x, "metadata.namespace"), ns) &&
            str_starts(json_str_at(x, "status.job"), prefix) && at > 0 &&
            (best == NULL || at < json_i64_at(best, "status.position.clusterQueue", 0))) {
            best = x;
        }
    }
    if (best == NULL) {
        return why;
    }
    struct str starts = json_str_at(best, "status.estimate.text");
    ptrdiff_t grounds = str_find(starts, '(');
    starts = grounds > 0 ? str_head(starts, (size_t)grounds - 1) : starts;
    return arena_f(&l->c->arena, "position %lld, starts %.*s: %.*s",
                   (long long)json_i64_at(best, "status.position.clusterQueue", 0),
                   STR_ARG(starts.n ? starts : STR("unknown")),
                   STR_ARG(json_str_at(best, "status.summary")));
}

/* ---- output ---- */

static struct str model_of(yyjson_val *o) {
    struct str uri =
        json_str_at(o, is_llm(o) ? "spec.model.uri" : "spec.predictor.model.storageUri");
    return uri.n ? uri : json_str_at(o, "spec.predictor.model.modelFormat.name");
}

static struct str runtime_of(yyjson_val *o) {
    struct str name = json_str_at(o, "status.servingRuntimeName");
    return name.n ? name : json_str_at(o, "status.clusterServingRuntimeName");
}

static struct str traffic_of(struct cli *c, yyjson_val *o) {
    yyjson_val *v, *list = json_path(o, "status.components.predictor.traffic");
    size_t i, n;
    yyjson_arr_foreach(list, i, n, v) {
        if (n > 1 && json_bool_at(v, "latestRevision", false)) {
            return arena_f(&c->arena, "%lld%%", (long long)json_i64_at(v, "percent", 0));
        }
    }
    return STR("-");
}

static void add_row(const struct services_list *l, struct table *t, yyjson_val *o) {
    struct cli *c = l->c;
    struct service_state s = state_of(o);
    bool llm = is_llm(o), wide = c->format == FORMAT_WIDE;
    size_t col = 0;
    struct str why = strcmp(s.word, "queued") == 0 ? line_of(l, o, llm, s.why) : s.why;
    table_row(t);
    if (l->ns.n == 0) {
        table_set(t, col++, STYLE_PLAIN, json_str_at(o, "metadata.namespace"));
    }
    table_set(t, col++, STYLE_PLAIN, json_str_at(o, "metadata.name"));
    table_set(t, col++, s.style, str_of(s.word));
    table_set(t, col++, STYLE_PLAIN, replicas_of(l, o, llm));
    table_set(t, col++, STYLE_PLAIN, cli_age(c, json_str_at(o, "metadata.creationTimestamp")));
    table_set(t, col++, STYLE_PLAIN, json_str_at(o, "status.url"));
    if (wide) {
        table_set(t, col++, STYLE_PLAIN, model_of(o));
        table_set(t, col++, STYLE_PLAIN, runtime_of(o));
        table_set(t, col++, STYLE_PLAIN, traffic_of(c, o));
    }
    table_set(t, col, STYLE_PLAIN, why);
}

static bool is_asked(const struct cli *c, yyjson_val *o) {
    for (size_t i = 0; i < c->args.n_args; i++) {
        if (str_is(json_str_at(o, "metadata.name"), c->args.args[i])) {
            return true;
        }
    }
    return c->args.n_args == 0;
}

static size_t add_rows(const struct services_list *l, struct table *t, yyjson_val *list) {
    yyjson_val *o;
    size_t i, n, shown = 0;
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, o) {
        if (is_asked(l->c, o)) {
            add_row(l, t, o);
            shown++;
        }
    }
    return shown;
}

/* For -o json, yaml and name: both kinds in one list. */
static int print_list(const struct services_list *l) {
    static const char *const kinds[] = {"InferenceService", "LLMInferenceService"};
    static const char *const versions[] = {KSERVE_V1BETA1, KSERVE_V1ALPHA1};
    yyjson_val *lists[] = {l->services, l->llms}, *o;
    struct buf b;
    size_t i, n, shown = 0;
    buf_init(&b, 256 << 20);
    buf_c(&b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    for (size_t k = 0; k < 2; k++) {
        yyjson_arr_foreach(json_get(lists[k], STR("items")), i, n, o) {
            if (!is_asked(l->c, o)) {
                continue;
            }
            yyjson_mut_doc *d = json_mut_copy(&l->c->arena, o);
            yyjson_mut_val *root = d ? d->root : NULL;
            json_mset_str(d, root, "apiVersion", str_of(versions[k]));
            json_mset_str(d, root, "kind", str_of(kinds[k]));
            buf_c(&b, shown++ ? "," : "");
            json_write_mut(&b, root);
        }
    }
    buf_c(&b, "]}");
    return cli_print_text(l->c, &b);
}

static int print_table(const struct services_list *l) {
    static const char *const narrow[] = {"PROJECT", "NAME", "STATE", "REPLICAS",
                                         "AGE",     "URL",  "WHY"};
    static const char *const full[] = {"PROJECT", "NAME",  "STATE",   "REPLICAS", "AGE",
                                       "URL",     "MODEL", "RUNTIME", "CANARY",   "WHY"};
    bool wide = l->c->format == FORMAT_WIDE;
    size_t skip = l->ns.n > 0 ? 1 : 0;
    struct table t;
    struct buf b;
    table_init(&t, &l->c->arena, (wide ? full : narrow) + skip, (wide ? 10 : 7) - skip);
    size_t n = add_rows(l, &t, l->services) + add_rows(l, &t, l->llms);
    if (n == 0 && l->c->args.n_args > 0) {
        yyjson_val *lists[] = {l->services, l->llms};
        struct str *names, want = str_of(l->c->args.args[0]);
        size_t known = cli_names(l->c, lists, 2, &names);
        err_set(&l->c->err, ERR_NOT_FOUND, "there is no service \"%.*s\"%.*s", STR_ARG(want),
                STR_ARG(cli_meant(l->c, want, names, known)));
        return cli_fail(l->c, NULL);
    }
    if (n == 0) {
        fprintf(stderr, "nothing is served; `berth deploy MODEL` serves a model\n");
        return CLI_OK;
    }
    buf_init(&b, 64 << 20);
    table_write(&t, l->c->colour, wide ? 0 : l->c->columns, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

/* The caller may lack the right to read Deployments and explanations; their columns of the table are empty then. */
static int fetch(struct services_list *l) {
    struct str none = {0};
    struct cli *c = l->c;
    int r = cli_get(c, cli_path(c, KSERVE_V1BETA1, "inferenceservices", l->ns, none, NULL),
                    &l->services);
    if (r != 0) {
        return r;
    }
    (void)cli_get(c, cli_path(c, KSERVE_V1ALPHA1, "llminferenceservices", l->ns, none, NULL),
                  &l->llms);
    if (c->format == FORMAT_TABLE || c->format == FORMAT_WIDE) {
        (void)cli_get(c, cli_path(c, "apps/v1", "deployments", l->ns, none, NULL), &l->deployments);
        (void)cli_get(c,
                      cli_path(c, "berth.dev/v1alpha1", "workloadexplanations", l->ns, none, NULL),
                      &l->why);
    }
    return 0;
}

static int run(struct cli *c) {
    struct services_list l = {.c = c};
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    l.ns = cli_flag(&c->args, "all-projects") ? l.ns : c->project;
    if (fetch(&l) != 0) {
        return cli_fail(c, NULL);
    }
    bool none = yyjson_arr_size(json_get(l.services, STR("items"))) == 0 &&
                yyjson_arr_size(json_get(l.llms, STR("items"))) == 0;
    if (none && l.ns.n > 0 && cli_no_project(c)) {
        return cli_fail(c, NULL);
    }
    bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
    return table ? print_table(&l) : print_list(&l);
}

static const struct cli_option options[] = {
    {"all-projects", 'A', NULL, "of all projects", NULL, false},
};

const struct cli_verb cli_services = {
    .name = "services",
    .arguments = "[NAME...]",
    .summary = "list served models, their state, and why one waits",
    .about =
        "Lists the InferenceServices and LLMInferenceServices of the project. For one that waits "
        "for quota, WHY is its position in\nthe queue, when it is expected to start, and what is "
        "short.",
    .examples = "  berth services\n  berth services chat -o wide\n  berth services -A -o json\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .max_args = CLI_ARGS_MAX,
    .run = run,
};

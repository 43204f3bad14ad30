/* queue: `berth queue`: who waits where, and for what. */
#include "cli/cli_int.h"
#include "cli/ranking.h"
#include "cli/table.h"

struct view {
    struct cli *c;
    yyjson_val *workloads, *local_queues;
    bool everywhere; /* all projects were seen, so that positions are whole */
};

static int fetch(struct view *v, struct str ns) {
    struct cli *c = v->c;
    struct str none = {0};
    const char *api = "kueue.x-k8s.io/v1beta2";
    int r = cli_get(c, cli_path(c, api, "workloads", ns, none, NULL), &v->workloads);
    return r ? r : cli_get(c, cli_path(c, api, "localqueues", ns, none, NULL), &v->local_queues);
}

/* Positions count every project's workloads; who may not see them all gets "at least". */
static int fetch_all(struct view *v) {
    int r = fetch(v, (struct str){0});
    v->everywhere = r == 0;
    if (r == ERR_FORBIDDEN && !cli_flag(&v->c->args, "all-projects")) {
        r = fetch(v, v->c->project);
    }
    return r;
}

static bool wanted(const struct view *v, const struct ranked *r) {
    const struct cli_args *a = &v->c->args;
    if (r->state == RANK_FINISHED && !cli_flag(a, "finished")) {
        return false;
    }
    if (!cli_flag(a, "all-projects") && !str_eq(r->ns, v->c->project)) {
        return false;
    }
    return a->n_args == 0 || str_is(r->queue, a->args[0]);
}

static struct str resources_of(struct cli *c, yyjson_val *w) {
    struct buf b;
    yyjson_val *sets = json_path(w, "spec.podSets"), *set, *k, *amount;
    size_t i, n, j, m;
    buf_init(&b, 4096);
    yyjson_arr_foreach(sets, i, n, set) {
        yyjson_val *containers = json_path(set, "template.spec.containers"), *one;
        size_t ci, cn;
        yyjson_arr_foreach(containers, ci, cn, one) {
            yyjson_val *limits = json_path(one, "resources.limits");
            yyjson_obj_foreach(limits, j, m, k, amount) {
                struct str name = json_str(k), text = json_str(amount);
                struct str prefix = STR("nvidia.com/");
                if (str_starts(name, prefix)) {
                    buf_f(&b, "%s%.*s:%.*s", b.n ? "," : "", STR_ARG(str_skip(name, prefix.n)),
                          STR_ARG(text.n ? text : STR("?")));
                }
            }
        }
    }
    struct str s = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return s;
}

static void add_row(const struct view *v, struct table *t, const struct ranked *r, bool wide,
                    bool projects) {
    static const enum table_style styles[] = {
        [RANK_RUNNING] = STYLE_GOOD, [RANK_RESERVED] = STYLE_GOOD, [RANK_WAITING] = STYLE_WAIT,
        [RANK_HELD] = STYLE_BAD,     [RANK_FINISHED] = STYLE_DIM,
    };
    struct cli *c = v->c;
    size_t col = 0;
    struct str position = {0};
    if (r->position) {
        position = arena_f(&c->arena, "%zu%s", r->position, v->everywhere ? "" : "+");
    }
    table_row(t);
    if (projects) {
        table_set(t, col++, STYLE_PLAIN, r->ns);
    }
    table_set(t, col++, STYLE_PLAIN, r->job);
    table_set(t, col++, STYLE_PLAIN, r->queue);
    table_set(t, col++, STYLE_PLAIN, position);
    table_set(t, col++, styles[r->state], str_of(rank_state_name(r->state)));
    table_set(t, col++, STYLE_PLAIN, cli_age(c, r->created));
    if (wide) {
        table_set(t, col++, STYLE_PLAIN, r->cluster_queue);
        table_set(t, col++, STYLE_PLAIN, arena_f(&c->arena, "%lld", (long long)r->priority));
        table_set(t, col++, STYLE_PLAIN, resources_of(c, r->workload));
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->workload, "metadata.name"));
    }
    table_set(t, col, STYLE_PLAIN, r->why);
}

static int tell_nothing(struct cli *c, bool projects) {
    struct str none = {0};
    if (!projects && cli_get(c, cli_path(c, "v1", "namespaces", none, c->project, NULL), NULL) ==
                         ERR_NOT_FOUND) {
        err_set(&c->err, ERR_NOT_FOUND, "there is no project \"%.*s\"", STR_ARG(c->project));
        return cli_fail(c, NULL);
    }
    if (projects) {
        fprintf(stderr, "nothing waits or runs\n");
    } else {
        fprintf(stderr, "nothing waits or runs in project \"%.*s\"; -A shows all projects\n",
                STR_ARG(c->project));
    }
    return CLI_OK;
}

static int print_table(const struct view *v, const struct ranked *list, size_t n) {
    static const char *const narrow[] = {"PROJECT", "JOB", "QUEUE", "POSITION", "STATE", "AGE",
                                         "WAITS FOR"};
    static const char *const full[] = {"PROJECT", "JOB",      "QUEUE",         "POSITION",
                                       "STATE",   "AGE",      "CLUSTER QUEUE", "PRIORITY",
                                       "GPUS",    "WORKLOAD", "WAITS FOR"};
    struct cli *c = v->c;
    bool wide = c->format == FORMAT_WIDE, projects = cli_flag(&c->args, "all-projects");
    const char *const *headers = wide ? full : narrow;
    size_t columns = wide ? 11 : 7, skip = projects ? 0 : 1;
    struct table t;
    struct buf b;
    table_init(&t, &c->arena, headers + skip, columns - skip);
    for (size_t i = 0; i < n; i++) {
        if (wanted(v, &list[i])) {
            add_row(v, &t, &list[i], wide, projects);
        }
    }
    if (t.n_rows == 0) {
        return tell_nothing(c, projects);
    }
    buf_init(&b, 0);
    table_write(&t, c->colour, wide ? 0 : c->columns, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

/* For -o json, yaml and name: the workloads that the table would show, in its order. */
static int print_list(const struct view *v, const struct ranked *list, size_t n) {
    struct cli *c = v->c;
    struct buf b;
    yyjson_doc *doc;
    buf_init(&b, 0);
    buf_c(&b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    size_t shown = 0;
    for (size_t i = 0; i < n; i++) {
        if (wanted(v, &list[i])) {
            buf_c(&b, shown++ ? "," : "");
            yyjson_mut_doc *d = json_mut_copy(&c->arena, list[i].workload);
            yyjson_mut_val *root = d ? yyjson_mut_doc_get_root(d) : NULL;
            json_mset_str(d, root, "apiVersion", STR("kueue.x-k8s.io/v1beta2"));
            json_mset_str(d, root, "kind", STR("Workload"));
            json_write_mut(&b, root);
        }
    }
    buf_c(&b, "]}");
    int r = json_parse(&c->arena, buf_view(&b), &doc, &c->err);
    buf_release(&b);
    if (r != 0) {
        return cli_fail(c, NULL);
    }
    cli_print(c, yyjson_doc_get_root(doc));
    return CLI_OK;
}

static int run(struct cli *c) {
    struct view v = {.c = c};
    struct ranked *list;
    size_t n;
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    if (fetch_all(&v) != 0) {
        return cli_fail(c, NULL);
    }
    if (c->args.n_args) {
        struct str path = cli_path(c, "kueue.x-k8s.io/v1beta2", "localqueues", c->project,
                                   str_of(c->args.args[0]), NULL);
        if (!cli_flag(&c->args, "all-projects") && cli_get(c, path, NULL) != 0) {
            if (c->err.code == ERR_NOT_FOUND) {
                err_set(&c->err, ERR_NOT_FOUND, "project \"%.*s\" has no queue \"%s\"",
                        STR_ARG(c->project), c->args.args[0]);
            }
            return cli_fail(c, NULL);
        }
    }
    if (ranking_make(&c->arena, v.workloads, v.local_queues, &list, &n) != 0) {
        err_set(&c->err, ERR_NOMEM, "no memory");
        return cli_fail(c, NULL);
    }
    bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
    return table ? print_table(&v, list, n) : print_list(&v, list, n);
}

static const struct cli_option options[] = {
    {"all-projects", 'A', NULL, "those of every project", NULL, false},
    {"finished", 0, NULL, "also what is over", NULL, false},
};

const struct cli_verb cli_queue = {
    .name = "queue",
    .arguments = "[QUEUE]",
    .summary = "who waits, where in the line, and for what",
    .examples = "  berth queue\n  berth queue team-a -n team-a -o wide\n  berth queue -A\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .max_args = 1,
    .run = run,
};

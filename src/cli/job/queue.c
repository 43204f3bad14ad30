/* queue: `berth queue`: pending and running workloads: position, what each waits for, estimated start. */
#include <stdlib.h>

#include "base/map.h"
#include "cli/job/queue_private.h"
#include "cli/job/ranking.h"
#include "cli/kit/table.h"

struct queue_listing {
    struct cli *c;
    yyjson_val *workloads, *local_queues;
    struct map why;  /* uid -> its explanation; empty when the server has none */
    bool everywhere; /* all projects were seen, so that positions are whole */
};

static int fetch(struct queue_listing *v, struct str ns) {
    struct cli *c = v->c;
    struct str none = {0};
    int r = cli_get(c, cli_path(c, KUEUE_API, "workloads", ns, none, NULL), &v->workloads);
    return r ? r
             : cli_get(c, cli_path(c, KUEUE_API, "localqueues", ns, none, NULL), &v->local_queues);
}

/* Why they wait and when they start, of the project or of all; a server without it is no error. */
static int fetch_why(struct queue_listing *v) {
    struct cli *c = v->c;
    struct str none = {0};
    struct str ns = cli_flag(&c->args, "all-projects") ? none : c->project;
    yyjson_val *list, *one;
    size_t i, n;
    struct err before = c->err;
    if (cli_get(c, cli_path(c, BERTH_API, "workloadexplanations", ns, none, NULL), &list) != 0) {
        c->err = before;
        return 0;
    }
    int r = 0;
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, one) {
        r = r ? r : map_put(&v->why, json_str_at(one, "metadata.uid"), one, NULL);
    }
    return r;
}

/* "in 5m", "in 5m to 20m", "now", "unknown": the estimate without its grounds. */
static struct str starts_of(yyjson_val *why) {
    struct str text = json_str_at(why, "status.estimate.text");
    ptrdiff_t grounds = str_find(text, '(');
    return grounds > 0 ? str_head(text, (size_t)grounds - 1) : text;
}

/* Positions count every project's workloads; who may not see them all gets "at least". */
static int fetch_all(struct queue_listing *v) {
    int r = fetch(v, (struct str){0});
    v->everywhere = r == 0;
    if (r == ERR_FORBIDDEN && !cli_flag(&v->c->args, "all-projects")) {
        r = fetch(v, v->c->project);
    }
    return r;
}

static bool wanted(const struct queue_listing *v, const struct ranked *r) {
    const struct cli_args *a = &v->c->args;
    if (r->state == RANK_FINISHED && !cli_flag(a, "finished")) {
        return false;
    }
    if (!cli_flag(a, "all-projects") && !str_eq(r->ns, v->c->project)) {
        return false;
    }
    return a->n_args == 0 || str_is(r->queue, a->args[0]) ||
           (cli_flag(a, "all-projects") && str_is(r->cluster_queue, a->args[0]));
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

/* Its place in the ClusterQueue as the server says; 0: it did not. */
static int64_t exact_of(const struct queue_listing *v, const struct ranked *r) {
    yyjson_val *why = map_get(&v->why, json_str_at(r->workload, "metadata.uid"));
    return json_i64_at(why, "status.position.clusterQueue", 0);
}

static void add_row(const struct queue_listing *v, struct table *t, const struct ranked *r,
                    bool wide, bool projects) {
    static const enum table_style styles[] = {
        [RANK_RUNNING] = STYLE_GOOD, [RANK_RESERVED] = STYLE_GOOD, [RANK_WAITING] = STYLE_WAIT,
        [RANK_HELD] = STYLE_BAD,     [RANK_FINISHED] = STYLE_DIM,  [RANK_STOPPING] = STYLE_BAD,
    };
    struct cli *c = v->c;
    size_t col = 0;
    yyjson_val *why = map_get(&v->why, json_str_at(r->workload, "metadata.uid"));
    int64_t exact = exact_of(v, r);
    struct str position = {0}, waits = why ? json_str_at(why, "status.summary") : r->why;
    if (exact > 0) {
        position = arena_f(&c->arena, "%lld", (long long)exact);
    } else if (r->position && why == NULL) { /* one that the server knows in no queue has none */
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
    table_set(t, col++, STYLE_PLAIN,
              wide ? json_str_at(why, "status.estimate.text") : starts_of(why));
    if (wide) {
        table_set(t, col++, STYLE_PLAIN, r->cluster_queue);
        table_set(t, col++, STYLE_PLAIN, arena_f(&c->arena, "%lld", (long long)r->priority));
        table_set(t, col++, STYLE_PLAIN, resources_of(c, r->workload));
        table_set(t, col++, STYLE_PLAIN, json_str_at(r->workload, "metadata.name"));
    }
    table_set(t, col, STYLE_PLAIN, r->state == RANK_WAITING ? waits : r->why);
}

static int tell_nothing(struct cli *c, bool projects) {
    if (!projects && cli_no_project(c)) {
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

static int print_table(const struct queue_listing *v, const struct ranked *list, size_t n) {
    static const char *const narrow[] = {"PROJECT", "JOB", "QUEUE",  "POSITION",
                                         "STATE",   "AGE", "STARTS", "WAITS FOR"};
    static const char *const full[] = {"PROJECT",  "JOB",  "QUEUE",    "POSITION",
                                       "STATE",    "AGE",  "STARTS",   "CLUSTER QUEUE",
                                       "PRIORITY", "GPUS", "WORKLOAD", "WAITS FOR"};
    struct cli *c = v->c;
    bool wide = c->format == FORMAT_WIDE, projects = cli_flag(&c->args, "all-projects");
    const char *const *headers = wide ? full : narrow;
    size_t columns = wide ? 12 : 8, skip = projects ? 0 : 1;
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
static int print_list(const struct queue_listing *v, const struct ranked *list, size_t n) {
    struct cli *c = v->c;
    struct buf b;
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
    if (shown == 0 && !cli_flag(&c->args, "all-projects") && cli_no_project(c)) {
        buf_release(&b);
        return cli_fail(c, NULL);
    }
    return cli_print_text(c, &b);
}

/* A queue of some project, or a ClusterQueue; if not, what may be meant is told. */
static bool names_any(const struct queue_listing *v, const char *name) {
    struct cli *c = v->c;
    struct str none = {0}, *names;
    yyjson_val *lists[2] = {v->local_queues, NULL}, *q;
    size_t i, n;
    yyjson_arr_foreach(json_get(v->local_queues, STR("items")), i, n, q) {
        if (str_is(json_str_at(q, "spec.clusterQueue"), name)) {
            return true;
        }
    }
    struct err before = c->err;
    if (cli_get(c, cli_path(c, KUEUE_API, "clusterqueues", none, none, NULL), &lists[1]) != 0) {
        c->err = before; /* not ours to list */
    }
    n = cli_names(c, lists, 2, &names);
    for (i = 0; i < n; i++) {
        if (str_is(names[i], name)) {
            return true;
        }
    }
    struct str meant = cli_meant(c, str_of(name), names, n);
    err_set(&c->err, ERR_NOT_FOUND,
            "no project has a queue \"%s\", and there is no ClusterQueue of that name%.*s", name,
            STR_ARG(meant));
    return false;
}

/* Those of the project. */
static struct str meant_of(const struct queue_listing *v, const char *name) {
    struct cli *c = v->c;
    struct str none = {0}, *names;
    yyjson_val *list = NULL;
    if (cli_get(c, cli_path(c, KUEUE_API, "localqueues", c->project, none, NULL), &list) != 0) {
        return none;
    }
    size_t n = cli_names(c, &list, 1, &names);
    return cli_meant(c, str_of(name), names, n);
}

/* A queue of the project, or else a job or workload: then it is explained, and *ret_code is the end. */
static bool names_queue(const struct queue_listing *v, const char *name, int *ret_code) {
    struct cli *c = v->c;
    struct str path = cli_path(c, KUEUE_API, "localqueues", c->project, str_of(name), NULL);
    if (cli_flag(&c->args, "all-projects")) {
        if (names_any(v, name)) {
            return true;
        }
        *ret_code = cli_fail(c, NULL);
        return false;
    }
    if (cli_get(c, path, NULL) == 0) {
        return true;
    }
    if (c->err.code == ERR_NOT_FOUND) {
        if (queue_why_is(c, name, ret_code)) {
            return false;
        }
        struct str meant = meant_of(v, name);
        if (!cli_no_project(c)) {
            err_set(&c->err, ERR_NOT_FOUND, "project \"%.*s\" has no queue \"%s\"%.*s",
                    STR_ARG(c->project), name, STR_ARG(meant));
        }
    }
    *ret_code = cli_fail(c, NULL);
    return false;
}

/* In their queue's own order, which knows more than the time of creation, where the server told it. */
static int exact_cmp(const void *a, const void *b, void *ctx) {
    const struct queue_listing *v = ctx;
    const struct ranked *x = a, *y = b;
    int64_t m = exact_of(v, x), n = exact_of(v, y);
    m = m > 0 ? m : INT64_MAX;
    n = n > 0 ? n : INT64_MAX;
    return m != n ? (m < n ? -1 : 1) : (x->position > y->position) - (x->position < y->position);
}

static void order(struct queue_listing *v, struct ranked *list, size_t n) {
    size_t from = 0, to;
    for (; from < n; from = to) {
        to = from + 1;
        while (to < n && list[from].state == RANK_WAITING && list[to].state == RANK_WAITING &&
               str_eq(list[to].cluster_queue, list[from].cluster_queue)) {
            to++;
        }
        qsort_r(list + from, to - from, sizeof(*list), exact_cmp, v);
    }
}

static int show(struct cli *c) {
    struct queue_listing v = {.c = c};
    struct ranked *list;
    size_t n;
    int code = CLI_OK;
    if (fetch_all(&v) != 0) {
        return cli_fail(c, NULL);
    }
    if (c->args.n_args && !names_queue(&v, c->args.args[0], &code)) {
        return code;
    }
    bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
    int r = table ? fetch_why(&v) : 0;
    r = r ? r : ranking_make(&c->arena, v.workloads, v.local_queues, &list, &n);
    if (r != 0) {
        err_set(&c->err, ERR_NOMEM, "no memory");
        code = cli_fail(c, NULL);
    } else {
        order(&v, list, n);
        code = table ? print_table(&v, list, n) : print_list(&v, list, n);
    }
    map_release(&v.why);
    return code;
}

static int run(struct cli *c) {
    const char *word = c->args.n_args ? c->args.args[0] : "";
    bool why = strcmp(word, "why") == 0, preview = strcmp(word, "preview") == 0;
    if (!why && c->args.n_args > 1) {
        return cli_usage(c, "unexpected argument \"%s\"", c->args.args[1]);
    }
    if (why && cli_flag(&c->args, "all-projects")) {
        return cli_usage(c, "why: jobs are looked for in one project: -n PROJECT, not -A");
    }
    if (!preview && (cli_nth(&c->args, "filename", 0) || cli_nth(&c->args, "delete", 0))) {
        return cli_usage(c, "--filename and --delete are for `berth queue preview`");
    }
    int code = cli_connect(c);
    return code != 0 ? code : why ? queue_why(c) : preview ? queue_preview(c) : show(c);
}

static const struct cli_option options[] = {
    {"all-projects", 'A', NULL, "those of every project", NULL, false},
    {"finished", 0, NULL, "also what is over", NULL, false},
    {"filename", 'f', "FILE", "preview: manifests as they would be applied; - for standard input",
     NULL, true},
    {"delete", 0, "KIND/NAME", "preview: what would be deleted, as clusterqueue/team-a", NULL,
     true},
};

const struct cli_verb cli_queue = {
    .name = "queue",
    .arguments = "[QUEUE | why JOB... | preview -f FILE]",
    .words = "why preview",
    .summary = "who waits, where in the line, for what, and until when",
    .about =
        "Shows who waits, where in the line, for what, and when it may start: in all queues of "
        "the\n"
        "project, in one of them, or, with -A, in those of this name everywhere or of a "
        "ClusterQueue.\n\n"
        "With `why`: everything that is known about why a job waits: what it lacks, who holds it,\n"
        "which rule keeps them, and when it may start. Estimates are made from run times: those\n"
        "declared (annotation berth.dev/expected-runtime on the job, its activeDeadlineSeconds, "
        "or\n"
        "maximumExecutionTimeSeconds) and those observed of jobs like it. \"in 20m to 1h10m\" "
        "holds\n"
        "for eight of ten; where earlier estimates differed too much, it is unknown.\n\n"
        "With `preview`: who would be admitted, evicted or left waiting if these ClusterQueues,\n"
        "Cohorts, ResourceFlavors and LocalQueues were applied or deleted. Nothing is written.",
    .examples = "  berth queue\n  berth queue team-a -n team-a -o wide\n  berth queue -A\n"
                "  berth queue why train-17\n"
                "  berth queue preview -f quotas.yaml\n"
                "  berth queue preview --delete clusterqueue/old -o json\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .max_args = CLI_ARGS_MAX,
    .run = run,
};

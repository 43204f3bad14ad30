/* queue_why: `berth queue why NAME`: everything that is known about why one waits, and when it may start. */
#include "cli/job/queue_private.h"

static int explanation(struct cli *c, struct str workload, yyjson_val **ret) {
    return cli_get(c, cli_path(c, BERTH_API, "workloadexplanations", c->project, workload, NULL),
                   ret);
}

static bool ended(yyjson_val *w) {
    return cli_condition_true(w, "Finished");
}

/* The newest workload that belongs to a job (or whatever owns it), one that is not over before others; empty. */
static struct str workload_of(struct cli *c, yyjson_val *list, struct str owner) {
    yyjson_val *items = json_get(list, STR("items")), *w, *best = NULL, *o;
    size_t i, n, k, m;
    yyjson_arr_foreach(items, i, n, w) {
        bool owned = false;
        yyjson_arr_foreach(json_path(w, "metadata.ownerReferences"), k, m, o) {
            owned = owned ||
                    (json_bool_at(o, "controller", false) && str_eq(json_str_at(o, "name"), owner));
        }
        struct str created = json_str_at(w, "metadata.creationTimestamp");
        if (owned && (best == NULL || ended(best) > ended(w) ||
                      (ended(best) == ended(w) &&
                       str_cmp(created, json_str_at(best, "metadata.creationTimestamp")) >= 0))) {
            best = w;
        }
    }
    return json_str_at(best, "metadata.name");
}

/* By the workload's name, else by its owner's. ERR_NOT_FOUND with no text when it is neither. */
static int find(struct cli *c, struct str name, yyjson_val **ret) {
    yyjson_val *list;
    int r = explanation(c, name, ret);
    if (r != ERR_NOT_FOUND) {
        return r;
    }
    struct err first = c->err;
    r = cli_get(c, cli_path(c, KUEUE_API, "workloads", c->project, (struct str){0}, NULL), &list);
    if (r != 0) {
        return r;
    }
    struct str workload = workload_of(c, list, name);
    if (workload.n == 0) {
        c->err = first;
        return ERR_NOT_FOUND;
    }
    return explanation(c, workload, ret);
}

static void print_text(struct cli *c, yyjson_val *v) {
    struct str job = json_str_at(v, "status.job"), name = json_str_at(v, "metadata.name");
    struct str state = json_str_at(v, "status.state"), text = json_str_at(v, "status.text");
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b, "%.*s", STR_ARG(job.n ? job : name));
    if (job.n && !str_eq(job, name)) {
        buf_f(&b, " (workload %.*s)", STR_ARG(name));
    }
    buf_f(&b, ": %.*s, since %.*s\n", STR_ARG(state),
          STR_ARG(cli_age(c, json_str_at(v, "metadata.creationTimestamp"))));
    struct str one;
    while (str_next(&text, '\n', &one)) {
        struct str copy = arena_str(&c->arena, one);
        cli_clean((char *)(uintptr_t)copy.p);
        buf_f(&b, "%.*s\n", STR_ARG(copy));
    }
    cli_out(&b);
    buf_release(&b);
}

/* The newest warning about a Job; empty: none, or not ours to read. */
static struct str warning_of(struct cli *c, struct str job) {
    struct str path = cli_path(c, "v1", "events", c->project, (struct str){0}, NULL), newest = {0},
               text = {0};
    struct str of = arena_f(
        &c->arena, "involvedObject.kind=Job,type=Warning,involvedObject.name=%.*s", STR_ARG(job));
    yyjson_val *list = NULL, *e;
    size_t i, n;
    struct err before = c->err;
    if (cli_get(c, cli_path_with(c, path, "fieldSelector", of), &list) != 0) {
        c->err = before;
    }
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, e) {
        struct str at = json_str_at(e, "lastTimestamp");
        if (str_cmp(at, newest) >= 0) {
            newest = at;
            text = json_str_at(e, "message");
        }
    }
    return text;
}

/* A Job that has no Workload: it names no queue, or none could be made for it. */
static bool tell_job(struct cli *c, struct str name) {
    yyjson_val *job;
    struct err before = c->err;
    if (cli_get(c, cli_path(c, "batch/v1", "jobs", c->project, name, NULL), &job) != 0) {
        c->err = before;
        return false;
    }
    struct str queue =
        json_str(json_get(json_path(job, "metadata.labels"), STR("kueue.x-k8s.io/queue-name")));
    struct str warning = warning_of(c, name);
    if (queue.n == 0) {
        err_set(&c->err, ERR_NOT_FOUND,
                "job \"%.*s\" waits in no queue: it has no label kueue.x-k8s.io/queue-name",
                STR_ARG(name));
    } else {
        err_set(&c->err, ERR_NOT_FOUND,
                "job \"%.*s\" names queue \"%.*s\" and has no workload%s%.*s", STR_ARG(name),
                STR_ARG(queue), warning.n > 0 ? ": " : " yet", STR_ARG(warning));
    }
    return true;
}

static int tell(struct cli *c, struct str name) {
    yyjson_val *v;
    if (find(c, name, &v) != 0) {
        if (c->err.code == ERR_NOT_FOUND && !tell_job(c, name) && !cli_no_project(c)) {
            err_set(&c->err, ERR_NOT_FOUND, "project \"%.*s\" has no job or workload \"%.*s\"",
                    STR_ARG(c->project), STR_ARG(name));
        }
        return cli_fail(c, NULL);
    }
    if (!cli_print(c, v)) {
        print_text(c, v);
    }
    return CLI_OK;
}

int queue_why(struct cli *c) {
    if (c->args.n_args < 2) {
        return cli_usage(c, "why: expected JOB or WORKLOAD");
    }
    for (size_t i = 1; i < c->args.n_args; i++) {
        bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
        if (i > 1 && table) {
            printf("\n");
        }
        int code = tell(c, str_of(c->args.args[i]));
        if (code != CLI_OK) {
            return code;
        }
    }
    return CLI_OK;
}

bool queue_why_is(struct cli *c, const char *name, int *ret_code) {
    yyjson_val *v;
    struct err before = c->err;
    if (find(c, str_of(name), &v) != 0) {
        c->err = before;
        return false;
    }
    if (!cli_print(c, v)) {
        print_text(c, v);
    }
    *ret_code = CLI_OK;
    return true;
}

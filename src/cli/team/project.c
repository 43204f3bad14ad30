/*
 * project: `berth project`: namespaces as people see them, with their queues and members.
 *
 * A project is described as one JSON object ({"name", "queues": [{"name", "clusterQueue"}], "members": [{"name",
 * "kind", "role"}]}), from which tables are made. Who may not read RoleBindings or queues sees a project without them.
 */
#include "cli/kit/table.h"
#include "cli/team/project_private.h"

struct project_look {
    struct cli *c;
    yyjson_val *queues, *bindings; /* lists; NULL: the caller may not read them */
    struct buf *out;
    size_t n;
};

/* ---- what there is ---- */

/* A list that the caller may be forbidden to read: *ret is NULL then. */
static int get_list(struct cli *c, struct str path, yyjson_val **ret) {
    *ret = NULL;
    int r = cli_get(c, path, ret);
    return r == ERR_FORBIDDEN ? 0 : r;
}

static int look(struct cli *c, struct str ns, struct project_look *ret) {
    struct str none = {0};
    *ret = (struct project_look){.c = c};
    int r = get_list(c, cli_path(c, PROJECT_KUEUE, "localqueues", ns, none, NULL), &ret->queues);
    return r ? r
             : get_list(c, cli_path(c, TEAM_RBAC "/v1", "rolebindings", ns, none, NULL),
                        &ret->bindings);
}

static void add_member(void *ctx, const struct team_member *m) {
    struct project_look *x = ctx;
    buf_c(x->out, x->n++ ? "," : "");
    buf_f(x->out, "{\"name\":");
    buf_json(x->out, m->name);
    buf_f(x->out, ",\"kind\":\"%s\",\"role\":", m->group ? "Group" : "User");
    buf_json(x->out, m->role);
    buf_ch(x->out, '}');
}

static void describe(struct project_look *x, struct str name, struct buf *out) {
    yyjson_val *queues = json_get(x->queues, STR("items")), *o;
    yyjson_val *bindings = json_get(x->bindings, STR("items"));
    size_t i, n;
    x->out = out;
    x->n = 0;
    buf_c(out, "{\"name\":");
    buf_json(out, name);
    buf_c(out, ",\"queues\":[");
    yyjson_arr_foreach(queues, i, n, o) {
        if (str_eq(json_str_at(o, "metadata.namespace"), name)) {
            buf_c(out, x->n++ ? ",{\"name\":" : "{\"name\":");
            buf_json(out, json_str_at(o, "metadata.name"));
            buf_c(out, ",\"clusterQueue\":");
            buf_json(out, json_str_at(o, "spec.clusterQueue"));
            buf_ch(out, '}');
        }
    }
    buf_c(out, "],\"members\":[");
    x->n = 0;
    yyjson_arr_foreach(bindings, i, n, o) {
        if (str_eq(json_str_at(o, "metadata.namespace"), name)) {
            team_each(o, add_member, x);
        }
    }
    buf_c(out, "]}");
}

static int parse(struct cli *c, struct buf *text, yyjson_val **ret) {
    yyjson_doc *doc;
    int r = buf_ok(text) ? err_set(&c->err, buf_ok(text), "the answer is too large")
                         : json_parse(&c->arena, buf_view(text), &doc, &c->err);
    buf_release(text);
    if (r == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return r;
}

/* ---- show ---- */

static void print_table(struct cli *c, const struct table *t) {
    struct buf b;
    buf_init(&b, 0);
    if (t->n_rows > 0) {
        table_write(t, c->colour, 0, &b);
    }
    cli_out(&b);
    buf_release(&b);
}

static void show_tables(struct cli *c, yyjson_val *project) {
    static const char *const of_queues[] = {"QUEUE", "CLUSTERQUEUE"};
    static const char *const of_members[] = {"MEMBER", "KIND", "ROLE"};
    yyjson_val *queues = json_get(project, STR("queues")), *o;
    yyjson_val *members = json_get(project, STR("members"));
    struct table t;
    size_t i, n;
    table_init(&t, &c->arena, of_queues, 2);
    yyjson_arr_foreach(queues, i, n, o) {
        table_row(&t);
        table_set(&t, 0, STYLE_PLAIN, json_str_at(o, "name"));
        table_set(&t, 1, STYLE_PLAIN, json_str_at(o, "clusterQueue"));
    }
    print_table(c, &t);
    printf("%s", t.n_rows ? "\n" : "it has no queue\n");
    table_init(&t, &c->arena, of_members, 3);
    yyjson_arr_foreach(members, i, n, o) {
        table_row(&t);
        table_set(&t, 0, STYLE_PLAIN, json_str_at(o, "name"));
        table_set(&t, 1, STYLE_PLAIN, json_str_at(o, "kind"));
        table_set(&t, 2, STYLE_PLAIN, json_str_at(o, "role"));
    }
    print_table(c, &t);
    printf("%s", t.n_rows ? "" : "it has no members\n");
}

static int no_project(struct cli *c, struct str name) {
    c->project = name;
    if (c->err.code == ERR_NOT_FOUND) {
        err_set(&c->err, ERR_NOT_FOUND,
                "there is no project \"%.*s\"; `berth project list` lists "
                "them",
                STR_ARG(name));
    }
    return cli_fail(c, NULL);
}

int project_show(struct cli *c, struct str name) {
    struct project_look x;
    struct buf b;
    yyjson_val *project;
    struct str none = {0};
    if (cli_get(c, cli_path(c, "v1", "namespaces", none, name, NULL), NULL) != 0 ||
        look(c, name, &x) != 0) {
        return no_project(c, name);
    }
    buf_init(&b, 0);
    describe(&x, name, &b);
    if (parse(c, &b, &project) != 0) {
        return cli_fail(c, NULL);
    }
    if (c->format == FORMAT_NAME) {
        printf("project/%.*s\n", STR_ARG(name));
    } else if (!cli_print(c, project)) {
        show_tables(c, project);
    }
    return CLI_OK;
}

/* ---- list ---- */

static struct str joined(struct cli *c, yyjson_val *list, const char *member) {
    struct buf b;
    yyjson_val *o;
    size_t i, n;
    buf_init(&b, 0);
    yyjson_arr_foreach(list, i, n, o) {
        buf_c(&b, i ? "," : "");
        buf_str(&b, json_str_at(o, member));
    }
    struct str text = b.n ? arena_str(&c->arena, buf_view(&b)) : STR("<none>");
    buf_release(&b);
    return text;
}

static void list_table(struct cli *c, yyjson_val *all) {
    static const char *const headers[] = {"PROJECT", "CLUSTERQUEUES", "MEMBERS"};
    yyjson_val *items = json_get(all, STR("items")), *o;
    struct table t;
    size_t i, n;
    table_init(&t, &c->arena, headers, 3);
    yyjson_arr_foreach(items, i, n, o) {
        table_row(&t);
        table_set(&t, 0, STYLE_PLAIN, json_str_at(o, "name"));
        table_set(&t, 1, STYLE_PLAIN, joined(c, json_get(o, STR("queues")), "clusterQueue"));
        table_set(&t, 2, STYLE_PLAIN, joined(c, json_get(o, STR("members")), "name"));
    }
    print_table(c, &t);
}

static void describe_all(struct project_look *x, yyjson_val *namespaces, struct buf *out) {
    yyjson_val *items = json_get(namespaces, STR("items")), *o;
    size_t i, n, count = 0;
    buf_c(out, "{\"items\":[");
    yyjson_arr_foreach(items, i, n, o) {
        struct str name = json_str_at(o, "metadata.name");
        if (!team_is_system(name)) {
            buf_c(out, count++ ? "," : "");
            describe(x, name, out);
        }
    }
    buf_c(out, "]}");
}

static int list(struct cli *c) {
    struct str none = {0};
    struct project_look x;
    struct buf b;
    yyjson_val *namespaces, *all, *o;
    size_t i, n;
    if (cli_get(c, cli_path(c, "v1", "namespaces", none, none, NULL), &namespaces) != 0 ||
        look(c, none, &x) != 0) {
        return cli_fail(c, NULL);
    }
    buf_init(&b, 0);
    describe_all(&x, namespaces, &b);
    if (parse(c, &b, &all) != 0) {
        return cli_fail(c, NULL);
    }
    yyjson_val *items = json_get(all, STR("items"));
    if (c->format == FORMAT_NAME) {
        yyjson_arr_foreach(items, i, n, o) {
            printf("project/%.*s\n", STR_ARG(json_str_at(o, "name")));
        }
    } else if (!cli_print(c, all)) {
        list_table(c, all);
    }
    return CLI_OK;
}

/* ---- delete ---- */

/* The ClusterQueue that was made for the project goes with it; others' of that name stay. */
static int delete_queue(struct cli *c, struct str name) {
    struct str none = {0}, path = cli_path(c, PROJECT_KUEUE, "clusterqueues", none, name, NULL);
    yyjson_val *queue;
    int r = cli_get(c, path, &queue);
    if (r != 0) {
        return r == ERR_NOT_FOUND || r == ERR_FORBIDDEN ? 0 : r;
    }
    yyjson_val *labels = json_path(queue, "metadata.labels");
    bool own = str_eq(json_str(json_get(labels, STR(PROJECT_LABEL))), name);
    r = own ? cli_request(c, "DELETE", path, none, NULL) : 0;
    return r == ERR_NOT_FOUND ? 0 : r;
}

static int delete(struct cli *c, struct str name) {
    struct str none = {0};
    if (!cli_flag(&c->args, "yes")) {
        return cli_usage(c,
                         "delete: everything in project \"%.*s\" would be deleted, jobs and "
                         "volumes included: say --yes if that is meant",
                         STR_ARG(name));
    }
    int code = cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    if (cli_request(c, "DELETE", cli_path(c, "v1", "namespaces", none, name, NULL), none, NULL)) {
        return no_project(c, name);
    }
    if (delete_queue(c, name) != 0) {
        return cli_fail(c, "delete the project's ClusterQueue");
    }
    printf("project/%.*s is being deleted\n", STR_ARG(name));
    return CLI_OK;
}

/* ---- add, remove ---- */

static int members(struct cli *c, struct str name, bool in) {
    struct team_members all;
    int code = team_read(c, &all);
    if (code == CLI_OK && all.n == 0) {
        return cli_usage(c, "%s: expected who: --member USER or --group GROUP", c->args.args[0]);
    }
    code = code ? code : cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    c->project = name;
    if (cli_no_project(c)) {
        return cli_fail(c, NULL);
    }
    for (size_t i = 0; i < all.n; i++) {
        all.v[i].role = in ? all.v[i].role : (struct str){0};
        if (team_set(c, name, &all.v[i]) != 0) {
            return cli_fail(c, NULL);
        }
        printf("project/%.*s: %s %.*s %s%.*s\n", STR_ARG(name), all.v[i].group ? "group" : "user",
               STR_ARG(all.v[i].name), in ? "has the role " : "has no role any more",
               STR_ARG(all.v[i].role));
    }
    return CLI_OK;
}

/* ---- the verb ---- */

static int shown(struct cli *c, struct str name) {
    int code = cli_connect(c);
    return code ? code : name.n ? project_show(c, name) : list(c);
}

/* Which options which words take: an option that would be ignored is refused. */
static int check_options(struct cli *c, bool creates, bool changes, bool deletes) {
    static const char *const names[] = {"queue", "quota", "member", "group", "yes"};
    bool takes[] = {creates, creates, creates || changes, creates || changes, deletes};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        for (size_t k = 0; k < c->args.n_values; k++) {
            if (!takes[i] && strcmp(c->args.values[k].option->name, names[i]) == 0) {
                return cli_usage(c, "%s: does not take --%s", c->args.args[0], names[i]);
            }
        }
    }
    if (cli_value(&c->args, "project") || cli_value(&c->args, "namespace")) {
        return cli_usage(c, "name the project without --project: berth project show NAME");
    }
    return CLI_OK;
}

static int run(struct cli *c) {
    const char *word = c->args.args[0];
    struct str name = str_of(c->args.n_args > 1 ? c->args.args[1] : "");
    bool lists = strcmp(word, "list") == 0, creates = strcmp(word, "create") == 0,
         shows = strcmp(word, "show") == 0, deletes = strcmp(word, "delete") == 0,
         adds = strcmp(word, "add") == 0, removes = strcmp(word, "remove") == 0;
    if (!lists && !creates && !shows && !deletes && !adds && !removes) {
        return cli_usage(c, "expected create, list, show, add, remove or delete, not \"%s\"", word);
    }
    if (lists != (name.n == 0)) {
        return lists ? cli_usage(c, "unexpected argument \"%s\"", c->args.args[1])
                     : cli_usage(c, "%s: expected the name of a project", word);
    }
    int code = check_options(c, creates, adds || removes, deletes);
    if (code != CLI_OK) {
        return code;
    }
    return creates           ? project_create(c, name)
           : deletes         ? delete (c, name)
           : adds || removes ? members(c, name, adds)
                             : shown(c, name);
}

static const struct cli_option options[] = {
    TEAM_OPTIONS,
    {"queue", 0, "NAME", "ClusterQueue that its jobs go to; else default", NULL, false},
    {"quota", 0, "RESOURCE=AMOUNT", "the most that it may have of a resource at once", NULL, true},
    {"yes", 0, NULL, "delete: yes, everything that is in it", NULL, false},
};

const struct cli_verb cli_project = {
    .name = "project",
    .group = GROUP_OTHER,
    .arguments = "create | list | show | add | remove | delete [NAME]",
    .words = "create list show add remove delete",
    .summary = "projects, their queues and their members",
    .about =
        "Creates, shows and deletes projects. A project is a namespace with a LocalQueue "
        "`default`;\n"
        "its members have the ClusterRole view, edit or admin in it. With --quota it gets a\n"
        "ClusterQueue of its own, like --queue's, that may borrow no more than the quota says. "
        "The\n"
        "server decides whether you may do this, as for kubectl.",
    .examples = "  berth project create vision --quota nvidia.com/gpu=4 --member ana:admin\n"
                "  berth project add vision --member ben --group interns:view\n"
                "  berth project remove vision --member ben\n"
                "  berth project list\n  berth project show vision -o json\n"
                "  berth project delete vision --yes\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};

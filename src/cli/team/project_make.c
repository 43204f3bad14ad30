/*
 * project_make: `berth project create`: a namespace, its queue, and its members.
 *
 * The LocalQueue `default` leads to the ClusterQueue that --queue names. With --quota it leads to a ClusterQueue of the
 * project's own, made after that one: the same cohort and flavors, nothing of its own (nominalQuota 0), and a limit on
 * what it borrows of each resource that was named. So a quota bounds a project and adds nothing to what there is to
 * give out. What was made is taken back when a later step is refused.
 */
#include "cli/team/project_private.h"

#include "wire/text/quantity.h"

enum { QUOTAS_MAX = 32 };

struct project_quota {
    struct str resource, amount;
    bool used;
};

struct project_making {
    struct cli *c;
    struct str name;
    const char *queue; /* that it is made after, or leads to */
    struct project_quota quotas[QUOTAS_MAX];
    size_t n_quotas;
    struct team_members members;
    bool made_namespace, made_queue;
};

/* ---- the command line ---- */

static int read_quotas(struct project_making *m) {
    struct quantity q;
    const char *text;
    for (size_t i = 0; (text = cli_nth(&m->c->args, "quota", i)) != NULL; i++) {
        struct project_quota *x = &m->quotas[i];
        if (i == QUOTAS_MAX) {
            return cli_usage(m->c, "--quota: expected at most %d resources", QUOTAS_MAX);
        }
        if (!str_cut(str_of(text), '=', &x->resource, &x->amount) || x->resource.n == 0 ||
            quantity_parse(x->amount, &q, NULL) != 0 || quantity_sign(q) < 0) {
            return cli_usage(m->c, "--quota %s: expected RESOURCE=AMOUNT, like nvidia.com/gpu=4",
                             text);
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(m->quotas[k].resource, x->resource)) {
                return cli_usage(m->c, "--quota: %.*s stands twice", STR_ARG(x->resource));
            }
        }
        m->n_quotas++;
    }
    return CLI_OK;
}

/* ---- the ClusterQueue ---- */

static int limit(struct project_making *m, yyjson_mut_doc *d, yyjson_mut_val *resource) {
    struct str name = json_mstr_at(resource, "name");
    int r = json_mset_str(d, resource, "nominalQuota", STR("0"));
    json_mdel(resource, STR("borrowingLimit"));
    json_mdel(resource, STR("lendingLimit"));
    for (size_t i = 0; i < m->n_quotas; i++) {
        if (str_eq(m->quotas[i].resource, name)) {
            m->quotas[i].used = true;
            r = r ? r : json_mset_str(d, resource, "borrowingLimit", m->quotas[i].amount);
        }
    }
    return r;
}

static int limit_all(struct project_making *m, yyjson_mut_doc *d, yyjson_mut_val *spec) {
    yyjson_mut_val *groups = json_mget(spec, STR("resourceGroups")), *group, *flavor, *resource;
    size_t i, k, j, n;
    int r = 0;
    yyjson_mut_arr_foreach(groups, i, n, group) {
        yyjson_mut_val *flavors = json_mget(group, STR("flavors"));
        size_t n_flavors, n_resources;
        yyjson_mut_arr_foreach(flavors, k, n_flavors, flavor) {
            yyjson_mut_val *resources = json_mget(flavor, STR("resources"));
            yyjson_mut_arr_foreach(resources, j, n_resources, resource) {
                r = r ? r : limit(m, d, resource);
            }
        }
    }
    return r;
}

static int unknown_resource(struct project_making *m, yyjson_val *queue,
                            const struct project_quota *q) {
    yyjson_val *groups = json_path(queue, "spec.resourceGroups"), *group, *name;
    struct cli *c = m->c;
    size_t i, k, n, n_names, known = 0;
    struct str names[QUOTAS_MAX];
    yyjson_arr_foreach(groups, i, n, group) {
        yyjson_val *covered = json_get(group, STR("coveredResources"));
        yyjson_arr_foreach(covered, k, n_names, name) {
            if (known < QUOTAS_MAX) {
                names[known++] = json_str(name);
            }
        }
    }
    struct str meant = cli_meant(c, q->resource, names, known);
    return err_set(&c->err, ERR_NOT_FOUND, "--quota: queue \"%s\" gives out no \"%.*s\"%.*s",
                   m->queue, STR_ARG(q->resource), STR_ARG(meant));
}

static int write_spec(struct project_making *m, yyjson_val *queue, struct buf *out) {
    yyjson_mut_doc *d = json_mut_copy(&m->c->arena, json_get(queue, STR("spec")));
    yyjson_mut_val *spec = d ? yyjson_mut_doc_get_root(d) : NULL;
    yyjson_mut_val *own = spec ? json_mensure(d, spec, "namespaceSelector.matchLabels") : NULL;
    int r = own ? 0 : ERR_NOMEM;
    if (r == 0) {
        json_mset(d, spec, STR("namespaceSelector"), NULL); /* whatever it selected */
        own = json_mensure(d, spec, "namespaceSelector.matchLabels");
        r = own ? json_mset_str(d, own, "kubernetes.io/metadata.name", m->name) : ERR_NOMEM;
    }
    r = r ? r : limit_all(m, d, spec);
    for (size_t i = 0; r == 0 && i < m->n_quotas; i++) {
        if (!m->quotas[i].used) {
            return unknown_resource(m, queue, &m->quotas[i]);
        }
    }
    if (r != 0) {
        return err_set(&m->c->err, r, "no memory for a ClusterQueue");
    }
    buf_f(out,
          "{\"apiVersion\":\"" PROJECT_KUEUE "\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":"
          "\"%.*s\",\"labels\":{\"" PROJECT_LABEL "\":\"%.*s\"}},\"spec\":",
          STR_ARG(m->name), STR_ARG(m->name));
    json_write_mut(out, spec);
    buf_ch(out, '}');
    return buf_ok(out);
}

static int get_queue(struct project_making *m, yyjson_val **ret) {
    struct cli *c = m->c;
    struct str none = {0};
    int r =
        cli_get(c, cli_path(c, PROJECT_KUEUE, "clusterqueues", none, str_of(m->queue), NULL), ret);
    if (r == ERR_NOT_FOUND) {
        return err_set(&c->err, r, "--queue: there is no ClusterQueue \"%s\"", m->queue);
    }
    if (r == 0 && m->n_quotas && json_str_at(*ret, "spec.cohortName").n == 0) {
        return err_set(&c->err, ERR_BAD_REQUEST,
                       "--quota: queue \"%s\" is in no cohort to borrow from: make a ClusterQueue "
                       "and name it with --queue",
                       m->queue);
    }
    return r;
}

/* ---- the steps ---- */

static int post(struct cli *c, const char *version, const char *plural, struct str ns,
                struct str body) {
    return cli_request(c, "POST", cli_path(c, version, plural, ns, (struct str){0}, NULL), body,
                       NULL);
}

static int make_namespace(struct project_making *m) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":");
    buf_json(&b, m->name);
    buf_c(&b, "}}");
    int r = post(m->c, "v1", "namespaces", (struct str){0}, buf_view(&b));
    m->made_namespace = r == 0;
    buf_release(&b);
    return r;
}

static int make_queues(struct project_making *m, yyjson_val *queue) {
    struct cli *c = m->c;
    struct str leads = str_of(m->queue);
    struct buf b;
    int r = 0;
    buf_init(&b, 0);
    if (m->n_quotas) {
        r = write_spec(m, queue, &b);
        r = r ? r : post(c, PROJECT_KUEUE, "clusterqueues", (struct str){0}, buf_view(&b));
        m->made_queue = r == 0;
        leads = m->name;
    }
    struct str body = arena_f(&c->arena,
                              "{\"apiVersion\":\"" PROJECT_KUEUE "\",\"kind\":\"LocalQueue\","
                              "\"metadata\":{\"name\":\"default\"},\"spec\":{\"clusterQueue\":"
                              "\"%.*s\"}}",
                              STR_ARG(leads));
    r = r ? r : post(c, PROJECT_KUEUE, "localqueues", m->name, body);
    buf_release(&b);
    return r;
}

/* Takes back what this command made; c->err stays what it was. */
static void undo(struct project_making *m) {
    struct cli *c = m->c;
    struct str none = {0};
    struct err before = c->err;
    if (m->made_namespace) {
        cli_request(c, "DELETE", cli_path(c, "v1", "namespaces", none, m->name, NULL), none, NULL);
    }
    if (m->made_queue) {
        cli_request(c, "DELETE", cli_path(c, PROJECT_KUEUE, "clusterqueues", none, m->name, NULL),
                    none, NULL);
    }
    c->err = before;
}

static int make(struct project_making *m) {
    yyjson_val *queue = NULL;
    bool named = cli_value(&m->c->args, "queue") != NULL; /* the default one may still come */
    int r = named || m->n_quotas ? get_queue(m, &queue) : 0;
    r = r ? r : make_namespace(m);
    r = r ? r : make_queues(m, queue);
    for (size_t i = 0; r == 0 && i < m->members.n; i++) {
        r = team_set(m->c, m->name, &m->members.v[i]);
    }
    return r;
}

int project_create(struct cli *c, struct str name) {
    struct project_making m = {.c = c, .name = name, .queue = cli_value(&c->args, "queue")};
    m.queue = m.queue ? m.queue : "default";
    int code = read_quotas(&m);
    code = code ? code : team_read(c, &m.members);
    code = code ? code : cli_connect(c);
    if (code != CLI_OK) {
        return code;
    }
    if (make(&m) != 0) {
        undo(&m);
        return cli_fail(c, NULL);
    }
    if (c->format == FORMAT_TABLE || c->format == FORMAT_WIDE) {
        printf("project/%.*s created\n", STR_ARG(name));
        return CLI_OK;
    }
    return project_show(c, name);
}

/* usage_serve: see usage_serve.h. */
#include "node/usage/usage_serve.h"

#include <stdio.h>
#include <sys/stat.h>

#include "api/kinds/kinds.h"
#include "api/schema/codec_encode.h"
#include "api/selector.h"
#include "api/usage_view.h"
#include "base/mem.h"
#include "node/files/files.h"

enum { ANSWER_BYTES = 64 << 20, READ_BYTES = 64 << 20 };

struct usage_serve {
    struct virtual_source pods, nodes;
    struct virtual_registry *registry;
    struct clock *clock;
    struct mirror *mirror;
    const struct kind *pod, *node;
    char dir[PATH_LEN];
    /* the file as it was read last */
    struct arena arena;
    yyjson_val *root;
    struct timespec changed;
    ino_t inode;
};

/* One question. */
struct usage_page {
    struct usage_serve *u;
    const struct virtual_ask *q;
    struct selector labels, fields;
    struct arena *a;
    struct buf out;
    bool list, found;
};

/* ---- what is known ---- */

static void read_file(struct usage_serve *u) {
    char path[PATH_LEN];
    struct stat st;
    struct str text;
    yyjson_doc *doc;

    if (path_join(path, u->dir, "usage.json", NULL) || stat(path, &st) == -1) {
        u->root = NULL;
        return;
    }
    if (u->root && u->inode == st.st_ino && u->changed.tv_sec == st.st_mtim.tv_sec &&
        u->changed.tv_nsec == st.st_mtim.tv_nsec) {
        return;
    }
    u->root = NULL;
    arena_reset(&u->arena);
    if (file_load(u->dir, "usage.json", &u->arena, &text, NULL) == 0 &&
        json_parse(&u->arena, text, &doc, NULL) == 0) {
        u->root = yyjson_doc_get_root(doc);
        u->inode = st.st_ino;
        u->changed = st.st_mtim;
    }
}

static bool is_fresh(const struct usage_serve *u, yyjson_val *entry) {
    int64_t at = json_i64_at(entry, "at", 0);

    return at && clock_wall(u->clock) - at < USAGE_OLD_S * NS_PER_SEC;
}

/* ---- as objects ---- */

static struct quantity_map usage_map(struct usage_page *p, yyjson_val *entry) {
    struct quantity_pair *v = ARENA_ARRAY(p->a, struct quantity_pair, 2);
    int64_t nano = json_i64_at(entry, "cpu", 0);

    if (v == NULL) {
        return (struct quantity_map){NULL, 0};
    }
    struct quantity cpu = quantity_of(nano / NS_PER_SEC, QUANTITY_DECIMAL);
    cpu.nano = (int32_t)(nano % NS_PER_SEC);
    int64_t kib = json_i64_at(entry, "memory", 0) / 1024;
    v[0] = (struct quantity_pair){STR("cpu"), cpu};
    v[1] = (struct quantity_pair){STR("memory"), quantity_of(kib * 1024, QUANTITY_BINARY)};
    return (struct quantity_map){v, 2};
}

static struct str window_text(struct usage_page *p, yyjson_val *entry) {
    int64_t ms = json_i64_at(entry, "window", 0) / NS_PER_MS;

    return arena_f(p->a, "%lld.%03llds", (long long)(ms / 1000), (long long)(ms % 1000));
}

/* Name, namespace and labels of what is measured; the time is that of the answer, as metrics-server has it. */
static struct meta meta_of(const struct usage_page *p, const struct object *o) {
    return (struct meta){.name = o->name,
                         .namespace = o->ns,
                         .labels = o->labels,
                         .creation_ns = clock_wall(p->u->clock)};
}

static void write_one(struct usage_page *p, const void *view) {
    p->found = true;
    if (p->list) {
        codec_list_object(p->q->kind, view, &p->out);
    } else {
        codec_encode_object(p->q->kind, view, &p->out);
    }
}

static void write_pod(struct usage_page *p, const struct object *o, yyjson_val *entry) {
    yyjson_val *list = json_get(entry, STR("containers"));
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    struct meta meta = meta_of(p, o);
    struct pod_metrics view = {.metadata = &meta,
                               .timestamp_ns = json_i64_at(entry, "at", 0),
                               .window = window_text(p, entry)};

    view.containers.v = ARENA_ARRAY(p->a, struct container_metrics, yyjson_arr_size(list) + 1);
    for (yyjson_val *c; view.containers.v && (c = yyjson_arr_iter_next(&it));) {
        view.containers.v[view.containers.n++] =
            (struct container_metrics){json_str_at(c, "name"), usage_map(p, c)};
    }
    write_one(p, &view);
}

static void write_node(struct usage_page *p, const struct object *o, yyjson_val *entry) {
    struct meta meta = meta_of(p, o);
    const struct node_metrics view = {.metadata = &meta,
                                      .timestamp_ns = json_i64_at(entry, "at", 0),
                                      .window = window_text(p, entry),
                                      .usage = usage_map(p, entry)};

    write_one(p, &view);
}

/* ---- which ---- */

static struct str field_of(void *ctx, struct str path) {
    const struct object *o = ctx;

    return str_is(path, "metadata.name") ? o->name : o->ns;
}

static bool is_asked_for(const struct usage_page *p, const struct object *o) {
    return (p->q->ns.n == 0 || str_eq(o->ns, p->q->ns)) &&
           (p->q->name.n == 0 || str_eq(o->name, p->q->name)) &&
           selector_matches(&p->labels, &o->labels) &&
           field_selector_matches(&p->fields, field_of, (void *)(uintptr_t)o);
}

static void add_pods(struct usage_page *p) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(p->u->root, STR("pods")));

    for (yyjson_val *e; (e = yyjson_arr_iter_next(&it));) {
        const struct object *o = mirror_by_uid(p->u->mirror, json_str_at(e, "uid"));
        if (o && o->kind == p->u->pod && is_fresh(p->u, e) && is_asked_for(p, o)) {
            write_pod(p, o, e);
        }
    }
}

static void add_node(struct usage_page *p) {
    yyjson_val *e = json_get(p->u->root, STR("node"));
    const struct object *o = mirror_get(p->u->mirror, p->u->node, STR(""), json_str_at(e, "name"));

    if (o && is_fresh(p->u, e) && is_asked_for(p, o)) {
        write_node(p, o, e);
    }
}

/* ---- the answer ---- */

static int read_question(struct usage_page *p, struct err *err) {
    int code = selector_parse(p->a, virtual_param(p->q, "labelSelector"), &p->labels, err);

    code = code ? code
                : field_selector_parse(p->a, virtual_param(p->q, "fieldSelector"), &p->fields, err);
    return code ? code : field_selector_check(&p->fields, NULL, err);
}

static int answer(struct usage_page *p, struct err *err) {
    int code = read_question(p, err);

    if (code) {
        return code;
    }
    read_file(p->u);
    p->list = str_is(str_of(p->q->verb), "list");
    bool pods = p->q->kind == &kind_pod_metrics;
    if (p->list) {
        codec_list_begin(pods ? "PodMetricsList" : "NodeMetricsList", str_of(p->q->kind->group),
                         p->q->version, &p->out);
    }
    if (pods) {
        add_pods(p);
    } else {
        add_node(p);
    }
    if (p->list) {
        codec_list_end(&p->out);
    } else if (!p->found) {
        return err_set(err, ERR_NOT_FOUND, "%s.metrics.k8s.io \"%.*s\" not found",
                       p->q->kind->plural, STR_ARG(p->q->name));
    }
    return buf_ok(&p->out) ? err_set(err, buf_ok(&p->out), "the answer is too large") : 0;
}

static int ask(struct usage_serve *u, const struct virtual_ask *q, virtual_done *done, void *ctx,
               struct err *err) {
    struct arena a;
    struct usage_page p = {.u = u, .q = q, .a = &a};

    arena_init(&a, ANSWER_BYTES);
    buf_init(&p.out, ANSWER_BYTES);
    int code = answer(&p, err);
    if (code == 0) {
        done(ctx, 0, buf_view(&p.out), NULL);
    }
    buf_release(&p.out);
    arena_release(&a);
    return code;
}

static int ask_pods(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                    void *ctx, struct virtual_call **ret, struct err *err) {
    (void)ret;
    return ask((struct usage_serve *)((char *)s - offsetof(struct usage_serve, pods)), q, done, ctx,
               err);
}

static int ask_nodes(struct virtual_source *s, const struct virtual_ask *q, virtual_done *done,
                     void *ctx, struct virtual_call **ret, struct err *err) {
    (void)ret;
    return ask((struct usage_serve *)((char *)s - offsetof(struct usage_serve, nodes)), q, done,
               ctx, err);
}

/* Every answer comes inside of ask: there is nothing to cancel. */
static void cancel(struct virtual_source *s, struct virtual_call *c) {
    (void)s;
    (void)c;
}

struct usage_serve *usage_serve_new(const char *data_dir, struct clock *c, struct mirror *m,
                                    struct virtual_registry *r, struct err *err) {
    struct usage_serve *u = mem_zalloc(sizeof(*u));

    if (u == NULL || path_join(u->dir, data_dir, "node", err)) {
        mem_free(u);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    u->registry = r;
    u->clock = c;
    u->mirror = m;
    u->pod = kind_by_name(STR(""), STR("Pod"));
    u->node = kind_by_name(STR(""), STR("Node"));
    u->pods = (struct virtual_source){"metrics.k8s.io", "pods", "", ask_pods, cancel, NULL};
    u->nodes = (struct virtual_source){"metrics.k8s.io", "nodes", "", ask_nodes, cancel, NULL};
    arena_init(&u->arena, READ_BYTES);
    virtual_add(r, &u->pods);
    virtual_add(r, &u->nodes);
    return u;
}

void usage_serve_free(struct usage_serve *u) {
    if (u) {
        virtual_remove(u->registry, &u->pods);
        virtual_remove(u->registry, &u->nodes);
        arena_release(&u->arena);
        mem_free(u);
    }
}

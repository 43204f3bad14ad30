/* top_types: types of GPUs in numbers, as Fleet has them or as nodes and pods say. */
#include "cli/top_private.h"

#include "api/inventory.h"
#include "base/map.h"
#include "cli/book/book_private.h"
#include "cli/kit/table.h"

#define PREFIX "nvidia.com/"
enum { TYPES_MAX = 256 };

struct top_type {
    struct str product, resource;
    int64_t nodes, total, used, free, broken;
};

struct types {
    struct cli *c;
    struct top_type *v;
    size_t n;
    struct map places; /* name of a node -> its product */
    bool used_known;
};

static bool is_gpu(struct str resource) {
    struct str name = str_skip(resource, strlen(PREFIX));
    return str_starts(resource, STR(PREFIX)) &&
           (str_starts(name, STR("gpu")) || str_starts(name, STR("mig-")));
}

bool top_is_bare(yyjson_val *node) {
    yyjson_val *notes = json_path(node, "metadata.annotations"), *k, *v;
    yyjson_val *capacity = json_path(node, "status.capacity");
    size_t i, n;
    if (json_str(json_get(notes, STR(INVENTORY_ANNOTATION))).n) {
        return false;
    }
    yyjson_obj_foreach(yyjson_is_obj(capacity) ? capacity : NULL, i, n, k, v) {
        int64_t count;
        if (is_gpu(json_str(k)) && str_to_i64(json_str(v), &count) && count > 0) {
            return true;
        }
    }
    return false;
}

/* ---- nodes and pods ---- */

static struct top_type *type_of(struct types *t, struct str product, struct str resource) {
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->v[i].product, product) && str_eq(t->v[i].resource, resource)) {
            return &t->v[i];
        }
    }
    if (t->n == TYPES_MAX) {
        return NULL;
    }
    t->v[t->n] = (struct top_type){.product = product, .resource = resource};
    return &t->v[t->n++];
}

static bool is_ready(yyjson_val *node) {
    return cli_condition_true(node, "Ready") && !json_bool_at(node, "spec.unschedulable", false);
}

static void add_node(struct types *t, yyjson_val *node) {
    struct str product =
        json_str(json_get(json_path(node, "metadata.labels"), STR(PREFIX "gpu.product")));
    yyjson_val *capacity = json_path(node, "status.capacity"), *k, *v;
    yyjson_val *allocatable = json_path(node, "status.allocatable");
    size_t i, n;
    bool serves = is_ready(node);
    /* An empty product is one as well; the map has no NULL. */
    struct str *place = ARENA_NEW(&t->c->arena, struct str);
    if (place == NULL ||
        map_put(&t->places, json_str_at(node, "metadata.name"), place, NULL) != 0) {
        return;
    }
    *place = product;
    yyjson_obj_foreach(yyjson_is_obj(capacity) ? capacity : NULL, i, n, k, v) {
        int64_t count = 0, good = 0;
        if (!is_gpu(json_str(k)) || !str_to_i64(json_str(v), &count) || count <= 0) {
            continue;
        }
        (void)str_to_i64(json_str(json_get(allocatable, json_str(k))), &good);
        good = !serves ? 0 : good < count ? good : count;
        struct top_type *type = type_of(t, product, json_str(k));
        if (type) {
            type->nodes++;
            type->total += count;
            type->free += good;
            type->broken += count - good;
        }
    }
}

static void take(struct types *t, struct str product, struct str resource, int64_t count) {
    struct top_type *type = type_of(t, product, resource);
    if (type && type->total) {
        int64_t from = count < type->free ? count : type->free;
        type->used += count;
        type->free -= from;
        /* What runs on a node that is not ready is in use, not out of order. */
        type->broken -= count - from < type->broken ? count - from : type->broken;
    }
}

static void add_pod(struct types *t, yyjson_val *pod) {
    const struct str *product = map_get(&t->places, json_str_at(pod, "spec.nodeName"));
    struct str phase = json_str_at(pod, "status.phase");
    yyjson_val *containers = json_path(pod, "spec.containers"), *one, *k, *v;
    size_t i, n, j, m;
    if (product == NULL || str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        return;
    }
    yyjson_arr_foreach(containers, i, n, one) {
        yyjson_val *limits = json_path(one, "resources.limits");
        yyjson_obj_foreach(yyjson_is_obj(limits) ? limits : NULL, j, m, k, v) {
            int64_t count;
            if (is_gpu(json_str(k)) && str_to_i64(json_str(v), &count) && count > 0) {
                take(t, *product, json_str(k), count);
            }
        }
    }
}

static void add_pods(struct types *t) {
    yyjson_val *list = NULL, *pod;
    struct str none = {0};
    size_t i, n;
    if (cli_get(t->c, cli_path(t->c, "v1", "pods", none, none, NULL), &list) != 0) {
        return;
    }
    t->used_known = true;
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, pod) {
        add_pod(t, pod);
    }
}

static void types_write(const struct types *t, struct buf *out) {
    buf_c(out, "{\"apiVersion\":\"" BOOK_API "\",\"kind\":\"Fleet\",\"metadata\":{\"name\":"
               "\"current\"},\"types\":[");
    for (size_t i = 0; i < t->n; i++) {
        const struct top_type *y = &t->v[i];
        buf_c(out, i ? ",{\"product\":" : "{\"product\":");
        buf_json(out, y->product);
        buf_c(out, ",\"resources\":[{\"resource\":");
        buf_json(out, y->resource);
        buf_f(out, ",\"total\":%lld,\"broken\":%lld", (long long)y->total, (long long)y->broken);
        if (t->used_known) {
            buf_f(out, ",\"used\":%lld,\"free\":%lld", (long long)y->used, (long long)y->free);
        }
        buf_c(out, "}]}");
    }
    buf_c(out, "],\"cards\":[]}");
}

yyjson_val *top_types_make(struct cli *c, yyjson_val *nodes) {
    struct types t = {.c = c, .v = ARENA_ARRAY(&c->arena, struct top_type, TYPES_MAX)};
    yyjson_doc *doc = NULL;
    yyjson_val *node;
    struct buf out;
    size_t i, n;
    if (t.v == NULL) {
        return NULL;
    }
    yyjson_arr_foreach(nodes, i, n, node) {
        if (top_is_bare(node)) {
            add_node(&t, node);
        }
    }
    if (t.n) {
        add_pods(&t);
    }
    buf_init(&out, 0);
    types_write(&t, &out);
    (void)json_parse(&c->arena, buf_view(&out), &doc, NULL);
    buf_release(&out);
    map_release(&t.places);
    return doc ? yyjson_doc_get_root(doc) : NULL;
}

/* ---- the table ---- */

static void number(struct cli *c, struct table *t, size_t column, enum table_style style,
                   yyjson_val *r, const char *name) {
    yyjson_val *v = json_get(r, str_of(name));
    int64_t count = v ? yyjson_get_sint(v) : 0;
    if (v) {
        table_set(t, column, count ? style : STYLE_PLAIN,
                  arena_f(&c->arena, "%lld", (long long)count));
    }
}

static void add_rows(struct cli *c, struct table *t, yyjson_val *type) {
    struct str flavor = json_str_at(type, "flavor"), product = json_str_at(type, "product");
    yyjson_val *list = json_get(type, STR("resources")), *r;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, r) {
        table_row(t);
        table_set(t, 0, STYLE_PLAIN, flavor.n ? flavor : product.n ? product : STR("unknown"));
        table_set(t, 1, STYLE_PLAIN, book_resource_text(&c->arena, json_str_at(r, "resource")));
        number(c, t, 2, STYLE_PLAIN, r, "total");
        number(c, t, 3, STYLE_PLAIN, r, "used");
        number(c, t, 4, STYLE_PLAIN, r, "reserved");
        number(c, t, 5, STYLE_GOOD, r, "free");
        number(c, t, 6, STYLE_WAIT, r, "waiting");
        number(c, t, 7, STYLE_BAD, r, "broken");
    }
}

static void attention_write(struct cli *c, yyjson_val *fleet, struct buf *out) {
    yyjson_val *list = json_get(fleet, STR("attention")), *a;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, a) {
        struct str ns = json_str_at(a, "namespace");
        struct str text = arena_str(&c->arena, json_str_at(a, "text"));
        if (text.p) {
            cli_clean((char *)(uintptr_t)text.p);
        }
        buf_f(out, "%s! %.*s%s%.*s\n", i ? "" : "\n", STR_ARG(text), ns.n ? ", project " : "",
              STR_ARG(ns));
    }
}

bool top_types_print(struct cli *c, yyjson_val *fleet) {
    static const char *const headers[] = {"TYPE",     "WHAT", "TOTAL",   "USED",
                                          "RESERVED", "FREE", "WAITING", "BROKEN"};
    yyjson_val *types = json_get(fleet, STR("types")), *type;
    struct table t;
    struct buf out;
    size_t i, n;
    table_init(&t, &c->arena, headers, sizeof headers / sizeof *headers);
    yyjson_arr_foreach(types, i, n, type) {
        add_rows(c, &t, type);
    }
    if (t.n_rows == 0) {
        return false;
    }
    buf_init(&out, 0);
    table_write(&t, c->colour, 0, &out);
    attention_write(c, fleet, &out);
    cli_out(&out);
    buf_release(&out);
    return true;
}

/*
 * book_sizes: what sizes of GPUs and slices there are, for --memory: from Availability, or, where the server has none
 * (a cluster's own API server), from what nodes say.
 */
#include "api/inventory.h"
#include "cli/book/book_private.h"

#define PREFIX "nvidia.com/"
#define MIG_PREFIX PREFIX "mig-"

struct sizes {
    struct book *b;
    struct buf out; /* items, with commas between */
};

static void add(struct sizes *s, struct str flavor, struct str resource, int64_t mib,
                double share) {
    if (mib > 0) {
        buf_c(&s->out, s->out.n ? ",{\"flavor\":" : "{\"flavor\":");
        buf_json(&s->out, flavor);
        buf_c(&s->out, ",\"resource\":");
        buf_json(&s->out, resource);
        buf_f(&s->out, ",\"memoryGiB\":%.3f,\"gpuShare\":%.4f,\"total\":1}", (double)mib / 1024,
              share);
    }
}

static void add_cards(struct sizes *s, const struct inventory *inv) {
    for (size_t i = 0; i < inv->n; i++) {
        const struct gpu_card *g = &inv->gpus[i];
        struct str flavor = gpu_flavor_name(&s->b->c->arena, g->model);
        if (!g->mig_enabled || g->mig_managed) {
            add(s, flavor, STR(PREFIX "gpu"), g->memory_mib, 1);
        }
        for (size_t k = 0; k < g->n_profiles && (g->mig_enabled || g->mig_managed); k++) {
            const struct gpu_profile *p = &g->profiles[k];
            add(s, flavor, p->resource, p->memory_mib,
                g->slices > 0 ? (double)p->size / g->slices : 1);
        }
    }
}

/* The memory of "nvidia.com/mig-3g.71gb" in MiB: by its label, else by its name. */
static int64_t memory_of(struct book *b, yyjson_val *labels, struct str resource) {
    int64_t v = 0;
    bool whole = str_is(resource, PREFIX "gpu");
    struct str key = arena_f(&b->c->arena, "%.*s.memory", STR_ARG(resource)), rest, gb;
    if (str_to_i64(json_str(json_get(labels, key)), &v) || whole) {
        return v;
    }
    if (str_starts(resource, STR(MIG_PREFIX)) && str_cut(resource, '.', &rest, &gb) &&
        str_cut(gb, '.', &rest, &gb)) { /* the first dot is in "nvidia.com" */
        ptrdiff_t g = str_find(gb, 'g');
        (void)str_to_i64(str_head(gb, g > 0 ? (size_t)g : 0), &v);
    }
    return v * 1000 * 1000 * 1000 / (1 << 20);
}

static void add_node(struct sizes *s, yyjson_val *node) {
    struct cli *c = s->b->c;
    yyjson_val *labels = json_path(node, "metadata.labels"), *k, *v;
    yyjson_val *capacity = json_path(node, "status.capacity");
    struct str text =
        json_str(json_get(json_path(node, "metadata.annotations"), STR(INVENTORY_ANNOTATION)));
    struct inventory inv;
    size_t i, n;
    if (text.n && inventory_decode(text, &c->arena, &inv, NULL) == 0) {
        add_cards(s, &inv);
        return;
    }
    struct str product = json_str(json_get(labels, STR(PREFIX "gpu.product")));
    int64_t whole = memory_of(s->b, labels, STR(PREFIX "gpu"));
    yyjson_obj_foreach(yyjson_is_obj(capacity) ? capacity : NULL, i, n, k, v) {
        struct str resource = json_str(k);
        int64_t count = 0, mib;
        bool ours = str_is(resource, PREFIX "gpu") || str_starts(resource, STR(MIG_PREFIX));
        if (ours && str_to_i64(json_str(v), &count) && count > 0) {
            mib = memory_of(s->b, labels, resource);
            add(s, gpu_flavor_name(&c->arena, product), resource, mib,
                whole > 0 ? (double)mib / (double)whole : 1);
        }
    }
}

static int from_nodes(struct book *b, yyjson_val **ret) {
    struct sizes s = {.b = b};
    yyjson_val *list = NULL, *node;
    yyjson_doc *doc;
    struct str none = {0};
    size_t i, n;
    int r = cli_get(b->c, cli_path(b->c, "v1", "nodes", none, none, NULL), &list);
    if (r != 0) {
        return r;
    }
    buf_init(&s.out, 64 << 20);
    yyjson_arr_foreach(json_get(list, STR("items")), i, n, node) {
        add_node(&s, node);
    }
    struct str text = arena_f(&b->c->arena, "{\"items\":[%.*s]}", STR_ARG(buf_view(&s.out)));
    buf_release(&s.out);
    r = json_parse(&b->c->arena, text, &doc, &b->c->err);
    *ret = r == 0 ? yyjson_doc_get_root(doc) : NULL;
    return r;
}

int book_sizes(struct book *b, int64_t at, yyjson_val **ret) {
    struct cli *c = b->c;
    struct str none = {0}, path = cli_path(c, BOOK_API, "availabilities", none, none, NULL);
    path = cli_path_with(c, path, "from", when_rfc(at, &c->arena));
    path = cli_path_with(c, path, "to", when_rfc(at + 3600, &c->arena));
    int r = cli_get(c, path, ret);
    return r == ERR_NOT_FOUND || r == ERR_UNAVAILABLE ? from_nodes(b, ret) : r;
}

/* top: `berth top`: every GPU, its slices, who holds them, and how it does. */
#include "api/inventory.h"
#include "base/map.h"
#include "cli/cli_int.h"
#include "cli/slicemap.h"

/* Pods by uid, for the holders' names. */
struct holders {
    struct map by_uid; /* to the pod's object */
};

static void fetch_holders(struct cli *c, struct holders *h) {
    yyjson_val *list = NULL, *pod;
    struct str none = {0};
    size_t i, n;
    if (cli_get(c, cli_path(c, "v1", "pods", none, none, NULL), &list) != 0 &&
        cli_get(c, cli_path(c, "v1", "pods", c->project, none, NULL), &list) != 0) {
        return; /* names are a help only */
    }
    yyjson_val *items = json_get(list, STR("items"));
    yyjson_arr_foreach(items, i, n, pod) {
        map_put(&h->by_uid, json_str_at(pod, "metadata.uid"), pod, NULL);
    }
}

static void name_holder(void *ctx, struct str uid, struct buf *out) {
    struct holders *h = ctx;
    yyjson_val *pod = map_get(&h->by_uid, uid);
    if (pod) {
        buf_f(out, "%.*s/%.*s", STR_ARG(json_str_at(pod, "metadata.namespace")),
              STR_ARG(json_str_at(pod, "metadata.name")));
    } else {
        buf_f(out, "pod %.*s", STR_ARG(uid));
    }
}

/* A node's GPUs; false when it says nothing of any. */
static bool inventory_of(struct cli *c, yyjson_val *node, struct inventory *ret) {
    yyjson_val *notes = json_path(node, "metadata.annotations");
    struct str text = json_str(json_get(notes, str_of(INVENTORY_ANNOTATION)));
    return text.n && inventory_decode(text, &c->arena, ret, &c->err) == 0;
}

static void draw_node(struct cli *c, yyjson_val *node, const struct inventory *inv,
                      struct holders *h, struct buf *out) {
    buf_f(out, "%.*s%s\n", STR_ARG(json_str_at(node, "metadata.name")),
          inv->simulated ? " (simulated)" : "");
    for (size_t i = 0; i < inv->n; i++) {
        slicemap_draw(&inv->gpus[i], c->colour, name_holder, h, out);
    }
}

/* {"kind":"List","items":[{the node's name, "gpus": what it says}]} for -o json and yaml. */
static int print_raw(struct cli *c, yyjson_val *items) {
    struct buf b;
    yyjson_doc *doc;
    yyjson_val *node;
    size_t i, n, shown = 0;
    buf_init(&b, 0);
    buf_c(&b, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[");
    yyjson_arr_foreach(items, i, n, node) {
        yyjson_val *notes = json_path(node, "metadata.annotations");
        struct str text = json_str(json_get(notes, str_of(INVENTORY_ANNOTATION)));
        if (text.n) {
            buf_f(&b, "%s{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":",
                  shown++ ? "," : "");
            buf_json(&b, json_str_at(node, "metadata.name"));
            buf_c(&b, "},\"gpus\":");
            buf_str(&b, text);
            buf_ch(&b, '}');
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
    yyjson_val *list, *node;
    struct holders h = {0};
    struct buf b;
    size_t i, n, drawn = 0;
    struct str none = {0};
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    if (cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list) != 0) {
        return cli_fail(c, NULL);
    }
    yyjson_val *items = json_get(list, STR("items"));
    if (c->format != FORMAT_TABLE && c->format != FORMAT_WIDE) {
        return print_raw(c, items);
    }
    fetch_holders(c, &h);
    buf_init(&b, 0);
    yyjson_arr_foreach(items, i, n, node) {
        struct inventory inv;
        if (inventory_of(c, node, &inv) && inv.n > 0) {
            buf_c(&b, drawn++ ? "\n" : "");
            draw_node(c, node, &inv, &h, &b);
        }
    }
    cli_out(&b);
    if (drawn == 0) {
        fprintf(stderr, "no node has GPUs\n");
    }
    buf_release(&b);
    map_release(&h.by_uid);
    return CLI_OK;
}

const struct cli_verb cli_top = {
    .name = "top",
    .arguments = "",
    .summary = "GPUs, their slices, who holds them",
    .examples = "  berth top\n  watch berth top\n  berth top -o json\n",
    .run = run,
};

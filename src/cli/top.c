/*
 * top: `berth top`: every GPU, its slices, who holds them, how it does. Cards are drawn from what nodes say of them;
 * who may not list nodes has them from Fleet. GPUs of nodes that say nothing are a table of types.
 */
#include "api/inventory.h"
#include "base/map.h"
#include "cli/kit/kit.h"
#include "cli/kit/slicemap.h"
#include "cli/top_private.h"

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

bool top_inventory(struct cli *c, yyjson_val *node, struct inventory *ret) {
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
    return cli_print_text(c, &b);
}

/* ---- through Fleet ---- */

static yyjson_val *fleet_of(struct cli *c) {
    yyjson_val *fleet = NULL;
    struct err before = c->err;
    struct str path =
        cli_path(c, "berth.dev/v1alpha1", "fleets", (struct str){0}, STR("current"), NULL);
    if (cli_get(c, path, &fleet) != 0) {
        c->err = before; /* a server without it */
        return NULL;
    }
    return fleet;
}

static int32_t number_at(yyjson_val *v, const char *name, double per) {
    yyjson_val *n = json_get(v, str_of(name));
    return n ? (int32_t)(yyjson_get_num(n) * per) : -1;
}

/* Fleet says who holds a slice, or that it may not be said: that stands where a pod's uid would. */
static struct str holder_of(struct cli *c, yyjson_val *in) {
    struct str ns = json_str_at(in, "namespace"), pod = json_str_at(in, "pod");
    return !json_bool_at(in, "used", false) ? (struct str){0}
           : pod.n ? arena_f(&c->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(pod))
                   : STR("somebody else");
}

static void read_instances(struct cli *c, yyjson_val *list, struct gpu_card *g) {
    yyjson_val *in;
    size_t i, n, max = yyjson_arr_size(list);
    max = max > INVENTORY_INSTANCES_MAX ? INVENTORY_INSTANCES_MAX : max;
    g->instances = ARENA_ARRAY(&c->arena, struct gpu_instance, max + 1);
    g->profiles = ARENA_ARRAY(&c->arena, struct gpu_profile, max + 1);
    yyjson_arr_foreach(list, i, n, in) {
        struct str profile = json_str_at(in, "profile");
        int64_t start = json_i64_at(in, "start", 0), size = json_i64_at(in, "size", 1);
        if (profile.n == 0) {
            g->pod_uid = holder_of(c, in);
        } else if (g->n_instances < max && g->instances && g->profiles && start >= 0 &&
                   start < INVENTORY_SLICES_MAX && size > 0 && size <= INVENTORY_SLICES_MAX) {
            int32_t id = (int32_t)g->n_instances;
            g->profiles[g->n_profiles++] = (struct gpu_profile){.name = profile, .id = id};
            g->instances[g->n_instances++] =
                (struct gpu_instance){.profile_id = id,
                                      .start = (int32_t)start,
                                      .size = (int32_t)size,
                                      .pod_uid = holder_of(c, in),
                                      .utilization_pct = number_at(in, "utilization", 1)};
        }
    }
}

static struct gpu_card card_of(struct cli *c, yyjson_val *v) {
    struct gpu_card g = {
        .model = json_str_at(v, "model"),
        .trouble = json_str_at(v, "trouble"),
        .index = (int32_t)json_i64_at(v, "index", 0),
        .memory_mib = number_at(v, "memoryGiB", 1024),
        .slices = (int32_t)json_i64_at(v, "slices", 0),
        .mig_enabled = json_bool_at(v, "migEnabled", false),
        .healthy = str_is(json_str_at(v, "health"), "Healthy"),
        .utilization_pct = number_at(v, "utilization", 1),
        .temperature_c = number_at(v, "temperature", 1),
        .power_mw = number_at(v, "power", 1000),
        .memory_used_mib = number_at(v, "memoryUsed", 1024),
    };
    g.slices = g.slices < 0 || g.slices > INVENTORY_SLICES_MAX ? 0 : g.slices;
    read_instances(c, json_get(v, STR("instances")), &g);
    return g;
}

static void name_as_it_is(void *ctx, struct str uid, struct buf *out) {
    buf_f(out, "%.*s", STR_ARG(uid));
}

static size_t draw_cards(struct cli *c, yyjson_val *fleet, struct buf *out) {
    yyjson_val *cards = json_get(fleet, STR("cards")), *v;
    struct str node = {0};
    size_t i, n;
    yyjson_arr_foreach(cards, i, n, v) {
        struct gpu_card g = card_of(c, v);
        if (i == 0 || !str_eq(node, json_str_at(v, "node"))) {
            node = json_str_at(v, "node");
            buf_f(out, "%s%.*s\n", i ? "\n" : "", STR_ARG(node));
        }
        slicemap_draw(&g, c->colour, name_as_it_is, NULL, out);
    }
    return yyjson_arr_size(cards);
}

/* For who may not list nodes. */
static int run_by_fleet(struct cli *c) {
    struct err why = c->err;
    yyjson_val *fleet = fleet_of(c);
    struct buf b;
    if (fleet == NULL) {
        c->err = why;
        return cli_fail(c, NULL);
    }
    if (cli_print(c, fleet)) {
        return CLI_OK;
    }
    buf_init(&b, 0);
    size_t drawn = draw_cards(c, fleet, &b);
    cli_out(&b);
    buf_release(&b);
    if (drawn == 0 || c->format == FORMAT_WIDE) {
        fputs(drawn ? "\n" : "", stdout);
        if (!top_types_print(c, fleet) && drawn == 0) {
            fprintf(stderr, "no node has GPUs\n");
        }
    }
    return CLI_OK;
}

/* ---- the verb ---- */

static size_t draw_nodes(struct cli *c, yyjson_val *items) {
    struct holders h = {0};
    yyjson_val *node;
    struct buf b;
    size_t i, n, drawn = 0;
    fetch_holders(c, &h);
    buf_init(&b, 0);
    yyjson_arr_foreach(items, i, n, node) {
        struct inventory inv;
        if (top_inventory(c, node, &inv) && inv.n > 0) {
            buf_c(&b, drawn++ ? "\n" : "");
            draw_node(c, node, &inv, &h, &b);
        }
    }
    cli_out(&b);
    buf_release(&b);
    map_release(&h.by_uid);
    return drawn;
}

static int run(struct cli *c) {
    yyjson_val *list, *node;
    size_t i, n, bare = 0;
    struct str none = {0};
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    if (cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list) != 0) {
        return c->err.code == ERR_FORBIDDEN ? run_by_fleet(c) : cli_fail(c, NULL);
    }
    yyjson_val *items = json_get(list, STR("items"));
    yyjson_arr_foreach(items, i, n, node) {
        bare += top_is_bare(node);
    }
    bool table = c->format == FORMAT_TABLE || c->format == FORMAT_WIDE;
    yyjson_val *fleet = bare || c->format == FORMAT_WIDE ? fleet_of(c) : NULL;
    fleet = bare && fleet == NULL ? top_types_make(c, items) : fleet;
    if (!table) {
        return bare && fleet ? (cli_print(c, fleet), CLI_OK) : print_raw(c, items);
    }
    size_t drawn = draw_nodes(c, items);
    if (fleet && drawn) {
        fputs("\n", stdout);
    }
    if (!(fleet && top_types_print(c, fleet)) && drawn == 0) {
        fprintf(stderr, "no node has GPUs\n");
    }
    return CLI_OK;
}

const struct cli_verb cli_top = {
    .name = "top",
    .arguments = "",
    .summary = "GPUs, their slices, who holds them",
    .about =
        "Draws every GPU, its slices and who holds them. With -o wide, and where nodes say nothing "
        "of\n"
        "their cards (a cluster with NVIDIA's device plugin), a table: how many of each type and\n"
        "slice there are, are used, kept for bookings, free, waited for and out of order.",
    .examples = "  berth top\n  berth top -o wide\n  watch berth top\n  berth top -o json\n",
    .run = run,
};

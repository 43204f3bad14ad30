/*
 * gpu: `berth gpu list` and `berth gpu clear`: every GPU in a line; what an Xid took out of service is brought back.
 *
 * A node says what it has in an annotation of its Node; it is asked to bring a GPU back by another, so that the right
 * to do that is the right to patch Nodes.
 */
#include "cli/kit/table.h"
#include "cli/top_private.h"

enum { PREFIX_MIN = 8, WAIT_STEPS = 100, WAIT_MS = 100 };

struct gpu_node {
    struct str name;
    struct inventory inv;
    struct buf asked; /* UUIDs that are to be cleared */
};

struct gpu_nodes {
    struct cli *c;
    yyjson_val *list;
    struct gpu_node *v;
    size_t n;
};

static int fetch(struct cli *c, struct gpu_nodes *ret) {
    struct str none = {0};
    yyjson_val *list, *node;
    size_t i, n;
    int code = cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list);

    if (code) {
        return code;
    }
    yyjson_val *items = json_get(list, STR("items"));
    *ret = (struct gpu_nodes){.c = c, .list = list};
    ret->v = ARENA_ARRAY(&c->arena, struct gpu_node, yyjson_arr_size(items) + 1);
    yyjson_arr_foreach(items, i, n, node) {
        struct gpu_node *x = ret->v ? &ret->v[ret->n] : NULL;
        if (x && top_inventory(c, node, &x->inv)) {
            x->name = json_str_at(node, "metadata.name");
            ret->n++;
        }
    }
    return ret->v ? 0 : err_set(&c->err, ERR_NOMEM, "no memory");
}

/* ---- list ---- */

static struct str state_of(const struct gpu_card *g, enum table_style *style) {
    *style = g->healthy ? STYLE_GOOD : STYLE_BAD;
    return g->healthy ? STR("in service") : STR("out of service");
}

static void add_row(struct table *t, struct cli *c, const struct gpu_node *x,
                    const struct gpu_card *g) {
    enum table_style style;
    struct str state = state_of(g, &style);

    table_row(t);
    table_set(t, 0, STYLE_PLAIN, x->name);
    table_set(t, 1, STYLE_PLAIN, arena_f(&c->arena, "%d", (int)g->index));
    table_set(t, 2, STYLE_PLAIN, g->uuid);
    table_set(t, 3, STYLE_PLAIN, g->model);
    table_set(t, 4, STYLE_PLAIN,
              g->slices == 0   ? STR("no")
              : g->mig_enabled ? STR("on")
                               : STR("off"));
    table_set(t, 5, style, state);
    table_set(t, 6, STYLE_PLAIN, g->trouble);
}

static int list(struct cli *c, struct gpu_nodes *all) {
    static const char *const headers[] = {"NODE", "GPU",   "UUID",   "MODEL",
                                          "MIG",  "STATE", "TROUBLE"};
    struct table t;
    struct buf b;

    if (c->format != FORMAT_TABLE && c->format != FORMAT_WIDE && cli_print(c, all->list)) {
        return CLI_OK;
    }
    table_init(&t, &c->arena, headers, 7);
    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < all->v[i].inv.n; k++) {
            add_row(&t, c, &all->v[i], &all->v[i].inv.gpus[k]);
        }
    }
    if (t.n_rows == 0) {
        fprintf(stderr, "no node has GPUs\n");
        return CLI_OK;
    }
    buf_init(&b, 0);
    table_write(&t, c->colour, 0, &b);
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

/* ---- clear ---- */

/* ID: a UUID, the beginning of one, or NODE/NUMBER. */
static bool is_meant(const struct gpu_node *x, const struct gpu_card *g, struct str id) {
    struct str node, number;
    uint64_t index;

    if (str_cut(id, '/', &node, &number)) {
        return str_eq(node, x->name) && str_to_u64(number, &index) && index == (uint64_t)g->index;
    }
    return str_eq(id, g->uuid) || (id.n >= PREFIX_MIN && str_starts(g->uuid, id));
}

static int choose(struct gpu_nodes *all, struct str id) {
    struct gpu_node *node = NULL;
    const struct gpu_card *card = NULL;

    for (size_t i = 0; i < all->n; i++) {
        for (size_t k = 0; k < all->v[i].inv.n; k++) {
            if (is_meant(&all->v[i], &all->v[i].inv.gpus[k], id) && card) {
                return err_set(&all->c->err, ERR_BAD_REQUEST,
                               "\"%.*s\" is more than one GPU: see `berth gpu list`", STR_ARG(id));
            } else if (is_meant(&all->v[i], &all->v[i].inv.gpus[k], id)) {
                node = &all->v[i];
                card = &node->inv.gpus[k];
            }
        }
    }
    if (card == NULL) {
        return err_set(
            &all->c->err, ERR_NOT_FOUND,
            "there is no GPU \"%.*s\": expected a UUID, its beginning, or NODE/NUMBER of "
            "`berth gpu list`",
            STR_ARG(id));
    }
    if (card->healthy) {
        return err_set(&all->c->err, ERR_BAD_REQUEST,
                       "GPU %.*s is in service: there is nothing to clear", STR_ARG(card->uuid));
    }
    buf_f(&node->asked, "%s%.*s", node->asked.n ? "," : "", STR_ARG(card->uuid));
    return 0;
}

static struct str node_path(struct cli *c, const struct gpu_node *x) {
    return cli_path(c, "v1", "nodes", (struct str){0}, x->name, NULL);
}

static int ask(struct cli *c, struct gpu_node *x) {
    struct buf body, answer;

    buf_init(&body, 1 << 16);
    buf_init(&answer, 64 << 20);
    buf_c(&body, "{\"metadata\":{\"annotations\":{\"" CLEAR_GPUS_ANNOTATION "\":");
    buf_json(&body, buf_view(&x->asked));
    buf_c(&body, "}}}");
    int code = kube_wait(c->client, "PATCH", node_path(c, x), buf_view(&body),
                         "application/merge-patch+json", &answer, &c->err);
    buf_release(&body);
    buf_release(&answer);
    return code;
}

/* The node takes the annotation away when it has done what it says. */
static int wait_done(struct cli *c, struct gpu_node *x) {
    yyjson_val *node;

    for (int i = 0; i < WAIT_STEPS; i++) {
        int code = cli_get(c, node_path(c, x), &node);
        if (code) {
            return code;
        }
        if (json_get(json_path(node, "metadata.annotations"), STR(CLEAR_GPUS_ANNOTATION)) == NULL) {
            return 0;
        }
        cli_sleep_ms(WAIT_MS);
    }
    return err_set(&c->err, ERR_TIMEOUT,
                   "node %.*s has not answered: it clears the GPU when it is back",
                   STR_ARG(x->name));
}

static int clear(struct cli *c, struct gpu_nodes *all) {
    for (size_t i = 0; i < all->n; i++) {
        buf_init(&all->v[i].asked, 1 << 14);
    }
    int code = 0;
    for (size_t i = 1; code == 0 && i < c->args.n_args; i++) {
        code = choose(all, str_of(c->args.args[i]));
    }
    for (size_t i = 0; i < all->n; i++) {
        struct gpu_node *x = &all->v[i];
        if (code == 0 && x->asked.n) {
            code = ask(c, x);
            code = code ? code : wait_done(c, x);
        }
        if (code == 0 && x->asked.n) {
            printf("node/%.*s cleared %s\n", STR_ARG(x->name), buf_cstr(&x->asked));
        }
        buf_release(&x->asked);
    }
    return code ? cli_fail(c, NULL) : CLI_OK;
}

static int run(struct cli *c) {
    const char *word = c->args.args[0];
    struct gpu_nodes all;
    bool clears = strcmp(word, "clear") == 0;

    if (!clears && strcmp(word, "list") != 0) {
        return cli_usage(c, "gpu: expected list or clear, not \"%s\"", word);
    }
    if (!clears && c->args.n_args > 1) {
        return cli_usage(c, "unexpected argument \"%s\"", c->args.args[1]);
    }
    if (clears && c->args.n_args == 1) {
        return cli_usage(c, "gpu clear: expected which GPU: berth gpu clear GPU-...");
    }
    int code = cli_connect(c);
    if (code != 0) {
        return code;
    }
    if (fetch(c, &all) != 0) {
        return cli_fail(c, NULL);
    }
    return clears ? clear(c, &all) : list(c, &all);
}

const struct cli_verb cli_gpu = {
    .name = "gpu",
    .arguments = "list | clear ID...",
    .words = "list clear",
    .summary = "GPUs and their health; bring one back that failed",
    .about =
        "Lists every GPU with what is wrong with it. A GPU that failed with an Xid stays out of "
        "service, over restarts, until it is cleared: by whoever may patch nodes. ID is a UUID, "
        "the beginning of one, or NODE/NUMBER.",
    .examples =
        "  berth gpu list\n  berth gpu clear GPU-1f3a90b2\n  berth gpu clear gpu-node-3/0\n",
    .min_args = 1,
    .max_args = CLI_ARGS_MAX,
    .run = run,
};

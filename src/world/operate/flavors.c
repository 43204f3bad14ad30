/*
 * flavors: `berth manifests flavors`: ResourceFlavors as a cluster's nodes suggest them: one for each GPU product, with
 * the taints that all of its nodes have, and one for nodes without GPUs. Comments say what each could have as quota.
 */
#include "world/operate/flavors.h"

#include <stdio.h>

#include "api/inventory.h"
#include "control/load/gpu_inventory.h"
#include "wire/yaml.h"

#define PRODUCT_LABEL "nvidia.com/gpu.product"

enum { PRODUCTS_MAX = 256, OUT_MAX = 8 << 20 };

struct product {
    struct str name;
    int64_t nodes;
    yyjson_val *taints; /* of its first node; of these, what others have not is left out */
    bool gone[64];
};

struct proposal {
    struct cli *c;
    struct mirror *mirror;
    struct gpu_inventory *gpus;
    struct product products[PRODUCTS_MAX];
    size_t n;
    int64_t plain;    /* nodes without GPUs */
    struct str asked; /* product whose sums are being written */
    struct buf out;
};

/* ---- nodes ---- */

static struct product *product_of(struct proposal *p, struct str name) {
    for (size_t i = 0; i < p->n; i++) {
        if (str_eq(p->products[i].name, name)) {
            return &p->products[i];
        }
    }
    if (p->n == PRODUCTS_MAX) {
        return NULL;
    }
    p->products[p->n] = (struct product){.name = name};
    return &p->products[p->n++];
}

static bool has_taint(yyjson_val *taints, yyjson_val *t) {
    size_t i, n;
    yyjson_val *other;
    yyjson_arr_foreach(taints, i, n, other) {
        if (str_eq(json_str_at(other, "key"), json_str_at(t, "key")) &&
            str_eq(json_str_at(other, "effect"), json_str_at(t, "effect")) &&
            str_eq(json_str_at(other, "value"), json_str_at(t, "value"))) {
            return true;
        }
    }
    return false;
}

static void add_taints(struct product *of, yyjson_val *taints) {
    size_t i, n;
    yyjson_val *t;
    of->taints = of->nodes == 0 ? taints : of->taints;
    of->nodes++;
    yyjson_arr_foreach(of->taints, i, n, t) {
        if (i < sizeof(of->gone) && !has_taint(taints, t)) {
            of->gone[i] = true;
        }
    }
}

static int add_node(struct proposal *p, yyjson_val *node) {
    struct cli *c = p->c;
    yyjson_mut_doc *d = json_mut_copy(&c->arena, node);
    struct object *o;
    struct str name = json_str(json_get(json_path(node, "metadata.labels"), STR(PRODUCT_LABEL)));
    int r = d ? object_new_mut(kind_by_name(STR(""), STR("Node")), yyjson_mut_doc_get_root(d), &o,
                               &c->err)
              : err_set(&c->err, ERR_NOMEM, "out of memory");
    r = r ? r : mirror_load(p->mirror, o, &c->err);
    if (r != 0 || str_empty(name)) {
        p->plain += r == 0;
        return r;
    }
    struct product *of = product_of(p, name);
    if (of == NULL) {
        return err_set(&c->err, ERR_TOO_MANY, "the nodes have more than %d GPU products",
                       PRODUCTS_MAX);
    }
    add_taints(of, json_path(node, "spec.taints"));
    return 0;
}

/* ---- what is printed ---- */

static void write_sum(void *ctx, const struct gpu_sum *s) {
    struct proposal *p = ctx;
    if (str_eq(s->product, p->asked)) {
        buf_f(&p->out, "# %.*s: %lld, of which %lld idle and %lld unhealthy\n",
              STR_ARG(s->resource), (long long)s->total, (long long)s->idle,
              (long long)s->unhealthy);
    }
}

/* Taints that the node's state brings and takes away say nothing of its GPUs. */
static bool is_lasting(yyjson_val *t) {
    return !str_starts(json_str_at(t, "key"), STR("node.kubernetes.io/"));
}

static void write_taints(const struct product *of, struct buf *b, const char *name, bool tolerate) {
    size_t i, n, k = 0;
    yyjson_val *t;
    yyjson_arr_foreach(of->taints, i, n, t) {
        if (i >= sizeof(of->gone) || of->gone[i] || !is_lasting(t)) {
            continue;
        }
        struct str value = json_str_at(t, "value");
        buf_f(b, k++ ? ",{\"key\":" : ",\"%s\":[{\"key\":", name);
        buf_json(b, json_str_at(t, "key"));
        if (tolerate) {
            buf_c(b, value.n ? ",\"operator\":\"Equal\"" : ",\"operator\":\"Exists\"");
        }
        if (value.n) {
            buf_c(b, ",\"value\":");
            buf_json(b, value);
        }
        buf_c(b, ",\"effect\":");
        buf_json(b, json_str_at(t, "effect"));
        buf_ch(b, '}');
    }
    buf_c(b, k ? "]" : "");
}

static int write_flavor(struct proposal *p, const struct product *of) {
    struct cli *c = p->c;
    struct buf b;
    yyjson_doc *d;
    buf_init(&b, OUT_MAX);
    buf_c(&b,
          "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":{"
          "\"name\":");
    buf_json(&b, of ? gpu_flavor_name(&c->arena, of->name) : STR("no-gpu"));
    buf_c(&b, "}");
    if (of) {
        buf_c(&b, ",\"spec\":{\"nodeLabels\":{\"" PRODUCT_LABEL "\":");
        buf_json(&b, of->name);
        buf_ch(&b, '}');
        /* Pods of the flavor tolerate what keeps others off; so the taint needs no second mention. */
        write_taints(of, &b, "tolerations", true);
        buf_ch(&b, '}');
    }
    buf_ch(&b, '}');
    int r = buf_ok(&b);
    r = r ? r : json_parse(&c->arena, buf_view(&b), &d, &c->err);
    if (r == 0) {
        buf_c(&p->out, "---\n");
        buf_f(&p->out, "# %lld nodes\n", (long long)(of ? of->nodes : p->plain));
        if (of) {
            p->asked = of->name;
            gpu_inventory_each(p->gpus, write_sum, p);
        }
        yaml_write(&p->out, yyjson_doc_get_root(d));
    }
    buf_release(&b);
    return r;
}

static int propose(struct proposal *p) {
    struct cli *c = p->c;
    size_t i, n;
    yyjson_val *list, *node;
    int r = cli_get(c, cli_path(c, "v1", "nodes", STR(""), STR(""), NULL), &list);
    yyjson_val *items = r == 0 ? json_get(list, STR("items")) : NULL;
    yyjson_arr_foreach(items, i, n, node) {
        r = r ? r : add_node(p, node);
    }
    p->gpus = r == 0 ? gpu_inventory_new(p->mirror, NULL, &c->err) : NULL;
    r = r == 0 && p->gpus == NULL ? c->err.code : r;
    if (r == 0 && p->plain > 0) {
        r = write_flavor(p, NULL);
    }
    for (i = 0; r == 0 && i < p->n; i++) {
        r = write_flavor(p, &p->products[i]);
    }
    if (r == 0 && p->n + (p->plain > 0) == 0) {
        buf_c(&p->out, "# the cluster has no nodes\n");
    }
    return r;
}

int flavors_run(struct cli *c) {
    struct proposal *p = arena_alloc(&c->arena, sizeof *p);
    int code = p ? cli_connect(c) : CLI_FAILED;
    if (code != CLI_OK) {
        return code;
    }
    struct mirror_options m = {.clock = loop_clock(c->loop)};
    *p = (struct proposal){.c = c, .mirror = mirror_new(&m)};
    buf_init(&p->out, OUT_MAX);
    int r = p->mirror ? propose(p) : err_set(&c->err, ERR_NOMEM, "out of memory");
    r = r ? r : buf_ok(&p->out);
    if (r == 0) {
        cli_out(&p->out);
    }
    gpu_inventory_free(p->gpus);
    mirror_free(p->mirror);
    buf_release(&p->out);
    return r ? cli_fail(c, "propose flavors") : CLI_OK;
}

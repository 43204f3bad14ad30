/*
 * fit: `berth fit` shows whether a model on the local disk fits the GPUs and slices of the fleet, or of the catalogue.
 *
 * The GPUs are those that the nodes report. A user who may not list nodes gets the cards of the Fleet object with the
 * catalogue's slices. With --gpu, or if no server is known, the catalogue alone is used (core/model/gpu_models.h). The
 * arithmetic is core/model/fit.h.
 */
#include <stdlib.h>

#include "cli/model/fit_report.h"
#include "cli/top_private.h"
#include "core/model/fit_places.h"
#include "core/model/kv.h"
#include "core/model/serverlog.h"

enum { LOG_MAX = 16 << 20 };

struct fit_list {
    struct cli *c;
    struct fit_places places;
    struct fit_row v[FIT_PLACES_MAX];
    size_t n;
};

/* ---- which GPUs ---- */

static void add_model(struct fit_list *l, const struct gpu_model *m) {
    fit_places_model(&l->places, str_of(m->name), m);
}

/* The places that --slice names; without it all. */
static void choose(struct fit_list *l) {
    const char *want;

    for (size_t i = 0; i < l->places.n; i++) {
        const struct fit_place *p = &l->places.v[i];
        bool chosen = cli_nth(&l->c->args, "slice", 0) == NULL;
        for (size_t k = 0; (want = cli_nth(&l->c->args, "slice", k)) != NULL; k++) {
            chosen =
                chosen || str_is(p->slice, want) || (p->slice.n == 0 && strcmp(want, "whole") == 0);
        }
        if (chosen) {
            l->v[l->n++] = (struct fit_row){.gpu = p->gpu, .slice = p->slice, .device = p->device};
        }
    }
}

/* Of a Fleet: its cards; what slices they may have is the catalogue's. */
static void add_fleet(struct fit_list *l, yyjson_val *fleet) {
    yyjson_val *cards = json_get(fleet, STR("cards")), *v;
    size_t i, n;

    if (!yyjson_is_arr(cards)) {
        return;
    }
    yyjson_arr_foreach(cards, i, n, v) {
        struct str model = json_str_at(v, "model");
        yyjson_val *memory = json_get(v, STR("memoryGiB"));
        double gib = yyjson_is_num(memory) ? yyjson_get_num(memory) : 0;
        const struct gpu_model *m =
            gpu_models_find(model, gib > 0 && gib < 4096 ? (int32_t)(gib * 1024) : 0);
        if (m != NULL) {
            fit_places_model(&l->places, model, m);
        }
    }
}

static int ask_server(struct fit_list *l) {
    yyjson_val *list = NULL, *node;
    struct str none = {0};
    size_t i, n;
    struct cli *c = l->c;

    int code = cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list);
    if (code == ERR_FORBIDDEN) {
        code = cli_get(c, cli_path(c, "berth.dev/v1alpha1", "fleets", none, STR("current"), NULL),
                       &list);
        if (code == 0) {
            add_fleet(l, list);
        }
        return code;
    }
    yyjson_val *items = json_get(list, STR("items"));
    if (code != 0 || !yyjson_is_arr(items)) {
        return code;
    }
    yyjson_arr_foreach(items, i, n, node) {
        struct inventory inv;
        for (size_t k = 0; top_inventory(c, node, &inv) && k < inv.n; k++) {
            fit_places_card(&l->places, &inv, &inv.gpus[k]);
        }
    }
    return 0;
}

/* 0, or an exit code after the trouble was told. */
static int collect(struct fit_list *l, bool *ret_catalog) {
    const char *gpu = cli_value(&l->c->args, "gpu");
    const struct gpu_model *m = gpu != NULL ? gpu_models_find(str_of(gpu), 0) : NULL;

    if (gpu != NULL && m == NULL) {
        struct buf b;
        buf_init(&b, 4096);
        for (size_t i = 0; gpu_models_at(i) != NULL; i++) {
            buf_f(&b, "%s%s", i > 0 ? ", " : "", gpu_models_at(i)->name);
        }
        int code = cli_usage(l->c, "--gpu: expected one of %s, not \"%s\"", buf_cstr(&b), gpu);
        buf_release(&b);
        return code;
    }
    *ret_catalog = gpu != NULL || !cli_has_server(l->c);
    if (*ret_catalog && cli_value(&l->c->args, "context") != NULL) {
        return cli_usage(l->c, "--context names one of a kubeconfig, and no server is asked: "
                               "--context-length is the length of a sequence");
    }
    if (m != NULL) {
        add_model(l, m);
    } else if (*ret_catalog) {
        fprintf(stderr, "no server is known: these are the GPUs of the catalogue\n");
        for (size_t i = 0; (m = gpu_models_at(i)) != NULL; i++) {
            add_model(l, m);
        }
    } else {
        int code = cli_connect(l->c);
        if (code != 0 || ask_server(l) != 0) {
            return code != 0 ? code : cli_fail(l->c, NULL);
        }
    }
    return 0;
}

/* ---- the question ---- */

static int number(struct cli *c, const char *option, int64_t *ret) {
    const char *text = cli_value(&c->args, option);
    int64_t n;

    if (text == NULL) {
        return 0;
    }
    if (!str_to_i64(str_of(text), &n) || n < 1 || n > 100000000) {
        return cli_usage(c, "--%s: expected a whole number of 1 to 100000000, not \"%s\"", option,
                         text);
    }
    *ret = n;
    return 0;
}

/* "0.9" of `per`, within 0 < n <= most. */
static int fraction(struct cli *c, const char *option, double most, double per, int64_t *ret) {
    const char *text = cli_value(&c->args, option);
    char *end;

    if (text == NULL) {
        return 0;
    }
    double n = strtod(text, &end);
    if (*text == 0 || *end != 0 || !(n > 0 && n <= most)) {
        return cli_usage(c, "--%s: expected a number above 0, at most %g, not \"%s\"", option, most,
                         text);
    }
    *ret = (int64_t)(n * per + 0.5);
    return 0;
}

static int read_ask(struct cli *c, const struct model_files *m, struct fit_ask *ask) {
    const char *runtime = cli_value(&c->args, "runtime"),
               *cache = cli_value(&c->args, "kv-cache-dtype");
    bool llama = runtime != NULL ? strcmp(runtime, "llama.cpp") == 0 : m->gguf;

    *ask = fit_defaults(llama ? FIT_LLAMA : FIT_VLLM);
    if (m->gguf && !llama) {
        fprintf(stderr,
                "vLLM supports GGUF files only in part; --runtime llama.cpp supports them fully\n");
    }
    ask->kv_bits = cache != NULL && strcmp(cache, "fp8") == 0 ? 8 : 0;
    int code = number(c, "context-length", &ask->context);
    code = code != 0 ? code : number(c, "sequences", &ask->sequences);
    code = code != 0 ? code : number(c, "tensor-parallel-size", &ask->tensor);
    code = code != 0 ? code : fraction(c, "gpu-memory-utilization", 1, FIT_PPM, &ask->utilization);
    return code != 0 ? code : fraction(c, "overhead", 1024, 1073741824.0, &ask->overhead);
}

/* Takes the overhead of all rows from a server's log; that needs the memory of the GPU that the server had. */
static int learn(struct cli *c, const struct facts *f, struct fit_ask *ask) {
    const char *path = cli_value(&c->args, "log");
    const char *gib = cli_value(&c->args, "log-memory");
    struct serverlog said = {0};
    struct str text, line;
    int64_t memory = 0;

    if (path == NULL && gib == NULL) {
        return 0;
    }
    if (path == NULL || (gib == NULL && ask->runtime == FIT_VLLM)) {
        return cli_usage(c, "--log and --log-memory must be given together; --log-memory is the "
                            "memory of that server's GPU, in GiB");
    }
    int code = fraction(c, "log-memory", 4096, 1073741824.0, &memory);
    if (code != 0) {
        return code;
    }
    if (model_files_text(&c->arena, path, LOG_MAX, &text, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    while (str_next(&text, '\n', &line)) {
        serverlog_line(&said, line);
    }
    struct kv_how how = {.bits = ask->kv_bits, .tensor = ask->tensor, .pipeline = 1, .block = 16};
    int64_t may_use = (int64_t)((double)memory * (double)ask->utilization / FIT_PPM);
    ask->overhead = serverlog_overhead(&said, may_use, kv_token(f, &how));
    if (ask->overhead < 0) {
        return cli_usage(
            c, "--log: %s does not report the sizes of weights and cache, or they do not add up",
            path);
    }
    fprintf(stderr, "overhead from %s: %.2f GiB\n", path, (double)ask->overhead / 1073741824.0);
    return 0;
}

/* ---- the verb ---- */

static int print(struct cli *c, const struct fit_report *r) {
    struct buf b;

    buf_init(&b, 64 << 20);
    if (c->format == FORMAT_JSON || c->format == FORMAT_YAML) {
        fit_report_json(r, &b);
        return cli_print_text(c, &b);
    }
    if (c->format == FORMAT_NAME) {
        for (size_t i = 0; i < r->n; i++) {
            const struct fit_row *x = &r->rows[i];
            if (x->answer.verdict != FIT_NO) {
                buf_f(&b, "%.*s\n", STR_ARG(x->slice.n > 0 ? x->slice : x->gpu));
            }
        }
    } else {
        fit_report_table(r, &c->arena, c->colour, c->format == FORMAT_WIDE ? 0 : c->columns, &b);
    }
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

static int run(struct cli *c) {
    static struct fit_list all; /* large, and one per process */
    struct model_files m;
    struct fit_ask ask;
    struct fit_report r = {.model = &m, .ask = &ask};

    all = (struct fit_list){.c = c};
    if (model_files_read(&c->arena, c->args.args[0], &m, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    int code = read_ask(c, &m, &ask);
    code = code != 0 ? code : learn(c, &m.facts, &ask);
    if (code == 0 && fit_check(&m.facts, &ask, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    code = code != 0 ? code : collect(&all, &r.catalog);
    if (code != 0) {
        return code;
    }
    choose(&all);
    if (all.n == 0) {
        err_set(&c->err, ERR_NOT_FOUND,
                "there is no such GPU or slice; --gpu H200 selects a model of the catalogue");
        return cli_fail(c, NULL);
    }
    for (size_t i = 0; i < all.n; i++) {
        all.v[i].answer = fit_of(&m.facts, &ask, &all.v[i].device);
    }
    if (m.note.n > 0) {
        fprintf(stderr, "%.*s\n", STR_ARG(m.note));
    }
    r.rows = all.v;
    r.n = all.n;
    return print(c, &r);
}

static const char *const runtimes[] = {"vllm", "llama.cpp", NULL};
static const char *const caches[] = {"auto", "fp8", NULL};
static const struct cli_option options[] = {
    {"slice", 0, "PROFILE", "only this slice, such as 3g.71gb; whole: the whole GPU; repeatable",
     NULL, true},
    {"gpu", 0, "MODEL", "a GPU model of the catalogue, such as H200; asks no server", NULL, false},
    {"context-length", 0, "N",
     "tokens of a sequence, prompt and answer; else the model's longest context", NULL, false},
    {"sequences", 0, "N", "sequences to run at once", NULL, false},
    {"runtime", 0, "NAME", "the model server; else llama.cpp for GGUF files, vLLM for others",
     runtimes, false},
    {"gpu-memory-utilization", 0, "F", "vLLM's share of the memory (0.9)", NULL, false},
    {"kv-cache-dtype", 0, "TYPE", "data type of the cache (auto)", caches, false},
    {"tensor-parallel-size", 0, "N", "whole GPUs that share the model (1)", NULL, false},
    {"overhead", 0, "GIB", "memory for neither weights nor cache; else estimated", NULL, false},
    {"log", 0, "FILE", "take the overhead from the log of a server of this model", NULL, false},
    {"log-memory", 0, "GIB", "the memory of that server's GPU", NULL, false},
};

const struct cli_verb cli_fit = {
    .name = "fit",
    .arguments = "MODEL",
    .summary = "show on which GPUs and slices a model fits",
    .about = "MODEL is a folder with config.json and safetensors files, a config.json, or a .gguf "
             "or .safetensors file.\n"
             "Only the headers of weight files are read. The GPUs and slices are those of the "
             "fleet, or of the catalogue of\n"
             "GPU models if no server is known. For each the table shows whether a model server "
             "would start, how many tokens\n"
             "its cache holds, how many sequences fit at once, the longest context, a bound of "
             "the tokens per second of one\n"
             "sequence, and if the model does not fit, the flags that would change that. -o name "
             "lists those that fit.",
    .examples = "  berth fit ~/models/Llama-3.1-8B-Instruct --context-length 8192\n"
                "  berth fit model.gguf --slice 1g.18gb --slice 2g.35gb\n"
                "  berth fit config.json --gpu H200 --kv-cache-dtype fp8 -o json\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};

/* models: `berth models`: the catalog, filtered. */
#include <stdlib.h>

#include "cli/kit/kit.h"
#include "cli/kit/table.h"
#include "cli/serve/catalog_find.h"
#include "core/model/catalog_filter.h"

/* The filters of the command line; one that was not given is 0 or empty. */
struct models_wish {
    struct catalog_filter filter;
    struct str task, license, text;
    double size, memory; /* at most: billions of parameters; GB that a card or slice has */
};

static struct str text_of(const struct catalog_model *m, const char *name) {
    return catalog_property(m, str_of(name)).text;
}

/* The number of parameters in billions, from "7.6B" or "350M"; below 0: the catalog does not say. */
static double size_of(const struct catalog_model *m) {
    struct str s = text_of(m, "size");
    char room[32], *end;
    snprintf(room, sizeof room, "%.*s", STR_ARG(str_head(s, 31)));
    double n = strtod(room, &end);
    bool whole = end != room;
    return !whole ? -1 : *end == 'M' || *end == 'm' ? n / 1000 : *end == 'T' ? n * 1000 : n;
}

static double memory_of(const struct catalog_model *m) {
    return (double)catalog_memory(m) / (1 << 30);
}

static bool has_task(const struct catalog_model *m, struct str task) {
    for (size_t i = 0; i < m->tasks.n; i++) {
        if (str_eq(m->tasks.v[i], task)) {
            return true;
        }
    }
    return false;
}

/* A model whose memory the catalog does not state passes --slice and --memory; every other filter needs a value. */
static bool passes(const struct models_wish *w, const struct catalog_model *m) {
    return catalog_filter_passes(&w->filter, m) && (w->task.n == 0 || has_task(m, w->task)) &&
           (w->license.n == 0 || str_eq(m->license, w->license)) &&
           (w->text.n == 0 || str_contains(m->name, w->text)) &&
           (w->size <= 0 || (size_of(m) >= 0 && size_of(m) <= w->size)) &&
           (w->memory <= 0 || memory_of(m) <= w->memory);
}

/* ---- the command line ---- */

/* The GB in the name of a slice: "3g.71gb". */
static bool slice_memory(const char *slice, double *ret) {
    const char *dot = strchr(slice, '.');
    char *end;
    *ret = dot ? strtod(dot + 1, &end) : 0;
    return dot != NULL && *ret > 0 && strncmp(end, "gb", 2) == 0;
}

static int read_number(struct cli *c, const char *option, double *ret) {
    const char *text = cli_value(&c->args, option);
    char *end;
    *ret = text ? strtod(text, &end) : 0;
    bool unit = text && (*end == 'B' || *end == 'b') && end[1] == 0;
    if (text && (end == text || (*end != 0 && !unit) || !(*ret > 0))) {
        return cli_usage(c, "--%s: expected a number above 0, not \"%s\"", option, text);
    }
    return 0;
}

static int read_wish(struct cli *c, struct models_wish *w) {
    const char *slice = cli_value(&c->args, "slice"), *filter = cli_value(&c->args, "filter");
    double memory;
    *w = (struct models_wish){.task = str_of(cli_value(&c->args, "task")),
                              .license = str_of(cli_value(&c->args, "license")),
                              .text = str_of(c->args.n_args ? c->args.args[0] : NULL)};
    if (catalog_filter_compile(&c->arena, str_of(filter), &w->filter, &c->err) != 0) {
        struct err e = c->err;
        return cli_usage(c, "--filter: %s", e.text);
    }
    int code = read_number(c, "size", &w->size);
    code = code ? code : read_number(c, "memory", &memory);
    if (code == 0 && slice && !slice_memory(slice, &w->memory)) {
        return cli_usage(c, "--slice: expected a profile such as 3g.71gb, not \"%s\"", slice);
    }
    w->memory = code == 0 && memory > 0 ? memory : w->memory;
    return code;
}

/* ---- output ---- */

static struct str joined(struct arena *a, const struct catalog_texts *t) {
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < t->n; i++) {
        buf_f(&b, "%s%.*s", i ? "," : "", STR_ARG(t->v[i]));
    }
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

static void add_row(struct cli *c, struct table *t, const struct catalog_model *m) {
    table_row(t);
    table_set(t, 0, STYLE_PLAIN, m->name);
    table_set(t, 1, STYLE_PLAIN, text_of(m, "size"));
    table_set(t, 2, STYLE_PLAIN, text_of(m, "tensor_type"));
    table_set(t, 3, STYLE_PLAIN,
              catalog_memory(m) > 0 ? arena_f(&c->arena, "%.1f GB", memory_of(m)) : STR("-"));
    table_set(t, 4, STYLE_PLAIN, m->license);
    table_set(t, 5, STYLE_PLAIN, joined(&c->arena, &m->tasks));
    if (c->format == FORMAT_WIDE) {
        table_set(t, 6, STYLE_PLAIN, m->provider);
        table_set(t, 7, STYLE_PLAIN, m->n_artifacts ? m->artifacts[0].uri : (struct str){0});
        table_set(t, 8, STYLE_PLAIN, m->description);
    }
}

static void put(struct buf *b, const char *name, struct str value) {
    if (value.n > 0) {
        buf_f(b, ",\"%s\":", name);
        buf_json(b, value);
    }
}

static void add_json(struct cli *c, struct buf *b, const struct catalog_model *m, bool first) {
    buf_c(b, first ? "{\"name\":" : ",{\"name\":");
    buf_json(b, m->name);
    put(b, "provider", m->provider);
    put(b, "license", m->license);
    put(b, "size", text_of(m, "size"));
    put(b, "tensorType", text_of(m, "tensor_type"));
    put(b, "tasks", joined(&c->arena, &m->tasks));
    put(b, "uri", m->n_artifacts ? m->artifacts[0].uri : (struct str){0});
    put(b, "description", m->description);
    if (catalog_memory(m) > 0) {
        buf_f(b, ",\"minMemoryBytes\":%lld", (long long)catalog_memory(m));
    }
    buf_ch(b, '}');
}

static int print(struct cli *c, const struct catalog *all, const struct models_wish *w) {
    static const char *const headers[] = {"MODEL", "SIZE",     "TYPE", "MEMORY",     "LICENSE",
                                          "TASKS", "PROVIDER", "URI",  "DESCRIPTION"};
    bool json = c->format == FORMAT_JSON || c->format == FORMAT_YAML;
    struct table t;
    struct buf b;
    size_t n = 0;
    buf_init(&b, 64 << 20);
    table_init(&t, &c->arena, headers, c->format == FORMAT_WIDE ? 9 : 6);
    buf_c(&b, json ? "{\"models\":[" : "");
    for (size_t i = 0; i < all->n; i++) {
        const struct catalog_model *m = &all->models[i];
        if (!passes(w, m)) {
            continue;
        }
        if (json) {
            add_json(c, &b, m, n == 0);
        } else if (c->format == FORMAT_NAME) {
            buf_f(&b, "%.*s\n", STR_ARG(m->name));
        } else {
            add_row(c, &t, m);
        }
        n++;
    }
    if (json) {
        buf_c(&b, "]}");
        return cli_print_text(c, &b);
    }
    if (n > 0 && c->format != FORMAT_NAME) {
        table_write(&t, c->colour, c->format == FORMAT_WIDE ? 0 : c->columns, &b);
    } else if (n == 0) {
        fprintf(stderr, "no model of the catalog matches\n");
    }
    cli_out(&b);
    buf_release(&b);
    return CLI_OK;
}

static int run(struct cli *c) {
    struct models_wish w;
    struct catalog all;
    int code = read_wish(c, &w);
    if (code != 0) {
        return code;
    }
    if (catalog_find_read(&c->arena, cli_value(&c->args, "catalog"), &all, &c->err) != 0) {
        return cli_fail(c, NULL);
    }
    return print(c, &all, &w);
}

static const struct cli_option options[] = {
    {"task", 0, "TASK", "only models for this task, such as text-generation", NULL, false},
    {"license", 0, "NAME", "only models under this licence, such as apache-2.0", NULL, false},
    {"size", 0, "N", "only models of at most N billion parameters", NULL, false},
    {"slice", 's', "PROFILE",
     "only models that need no more memory than this slice has, such as 3g.71gb", NULL, false},
    {"memory", 0, "GB", "only models that need no more memory than this", NULL, false},
    {"filter", 0, "QUERY", "a condition in the language of the model registry's filterQuery", NULL,
     false},
    {"catalog", 0, "FILE", "read this catalog, in the model registry's format", NULL, false},
};

const struct cli_verb cli_models = {
    .name = "models",
    .arguments = "[TEXT]",
    .summary = "list models that can be deployed",
    .about =
        "Lists the models of the catalog whose names contain TEXT. MEMORY is the least GPU memory "
        "with which a model server\nstarts. The catalog is built into the program, or is read "
        "from --catalog FILE; no server is asked. `kubectl get\ncatalogmodels` lists the "
        "catalog of a server. `berth fit` computes what fits for a model on disk.",
    .examples = "  berth models --slice 2g.35gb --license apache-2.0\n"
                "  berth models --task feature-extraction\n"
                "  berth models --filter \"license = 'mit' AND NOT min_vram_gb > 40\" -o json\n"
                "  berth models --catalog models.yaml llama\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(*options),
    .max_args = 1,
    .run = run,
};

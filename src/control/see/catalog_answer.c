/* catalog_answer: see catalog_answer.h. Sources are read in their order, models in the order of their file. */
#include "control/see/catalog_answer.h"

#include "api/kinds/kinds.h"
#include "api/models/view_catalog.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "base/map.h"
#include "core/model/catalog_filter.h"

#define GIB 1073741824.0

enum { RECORDS_MAX = 1000 };

struct shelf { /* of one question */
    const struct catalog_question *q;
    struct arena *a;
    yyjson_val *data; /* of the ConfigMap */
    struct catalog_filter filter;
    struct map names; /* of objects, given out: struct name_used */
    struct buf *out;
    size_t n;
    bool found;
};

static int wrong(struct err *err, struct str key, const struct err *why) {
    return err_set(err, why->code == ERR_NOMEM ? ERR_NOMEM : ERR_UNAVAILABLE,
                   "ConfigMap berth-system/model-catalog-sources, key \"%.*s\": %s", STR_ARG(key),
                   why->text);
}

/* ---- what a model is called ---- */

static bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.';
}

struct name_used {
    int next; /* number of the next model that is called so */
};

/* The name, or with the first number behind it that nobody has; each number is tried once for all that are alike. */
static struct str name_free(struct shelf *s, struct str base) {
    struct name_used *first = map_get(&s->names, base), *own = ARENA_NEW(s->a, struct name_used);
    struct str name = base;
    while (name.n > 0 && map_get(&s->names, name) != NULL) {
        name = arena_f(s->a, "%.*s-%d", STR_ARG(base), first->next++);
    }
    if (own == NULL || name.n == 0) {
        return (struct str){0};
    }
    own->next = 2;
    return map_put(&s->names, name, own, NULL) == 0 ? name : (struct str){0};
}

/* "Qwen/Qwen2.5-7B" of source "open" as "open.qwen-qwen2.5-7b"; of two alike the second ends in "-2". */
static struct str name_new(struct shelf *s, struct str source, struct str model) {
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "%.*s.%.*s", STR_ARG(source), STR_ARG(model));
    size_t n = b.n < 200 ? b.n : 200, at = 0;
    char *text = arena_alloc(s->a, n + 1);
    for (size_t i = 0; text != NULL && i < n; i++) {
        char c = b.p[i];
        c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
        bool joins = at == 0 || text[at - 1] == '-' || text[at - 1] == '.';
        if (plain(c) ? c != '.' || !joins : !joins) {
            text[at++] = plain(c) ? c : '-';
        }
    }
    while (text != NULL && at > 0 && (text[at - 1] == '-' || text[at - 1] == '.')) {
        at--;
    }
    buf_release(&b);
    return name_free(s, str_from(text, at));
}

/* ---- where it fits ---- */

static void set_bare(struct catalog_fit_view *to, int64_t needs, int64_t memory, struct arena *a) {
    bool fits = needs > 0 && memory >= needs;
    to->verdict = needs <= 0 ? STR("unknown") : fits ? STR("fits") : STR("no");
    to->reason = needs <= 0 ? STR("the catalog states neither config_json nor min_vram_gb")
                 : fits
                     ? (struct str){0}
                     : arena_f(a, "the catalog states %.0f GiB as required", (double)needs / GIB);
}

static void set_fit(struct shelf *s, const struct facts *f, const struct fit_ask *ask,
                    const struct fit_place *p, struct catalog_fit_view *to) {
    *to = (struct catalog_fit_view){
        .gpu = p->gpu, .slice = p->slice, .memory_gib = (double)p->device.memory / GIB};
    if (f == NULL) {
        set_bare(to, ask->least_memory, p->device.memory, s->a);
        return;
    }
    struct fit_answer r = fit_of(f, ask, &p->device);
    to->verdict = str_of(fit_word(r.verdict));
    to->reason = arena_str(s->a, str_of(r.reason));
    to->longest = r.longest > 0 ? r.longest : 0;
    to->speed = (struct opt_double){r.speed_one > 0, (double)r.speed_one / 1000};
    if (r.verdict != FIT_NO) {
        to->tokens = r.tokens;
        to->at_once = r.at_once;
    } else if (r.n_fixes > 0) {
        to->flag = fit_flag(&r, ask->runtime, 0, s->a);
        if (r.both) {
            struct str other = fit_flag(&r, ask->runtime, 1, s->a);
            to->flag = arena_f(s->a, "%.*s %.*s", STR_ARG(to->flag), STR_ARG(other));
        }
    }
}

/* The dimensions of a model by its property config_json; false: it has none, or one that cannot be read, which `why`
 * says. */
static bool facts_read(struct shelf *s, const struct catalog_model *m, struct facts *f,
                       const struct fit_ask *ask, struct str *why) {
    struct catalog_property p = catalog_property(m, STR("config_json"));
    struct err err = {0};
    *why = (struct str){0};
    if (p.kind != CATALOG_TEXT || p.text.n == 0) {
        return false;
    }
    if (facts_of_config(s->a, p.text, f, &err) == 0 && fit_check(f, ask, &err) == 0) {
        return true;
    }
    *why = arena_f(s->a, "config_json: %s", err.text);
    return false;
}

static void set_fits(struct shelf *s, const struct catalog_model *m, struct catalog_model_view *v) {
    const struct fit_places *p = s->q->places;
    struct fit_ask ask = fit_defaults(FIT_VLLM);
    struct facts f = {0};
    struct str why;
    ask.context = s->q->context;
    ask.sequences = s->q->sequences;
    ask.least_memory = catalog_memory(m);
    bool known = facts_read(s, m, &f, &ask, &why);
    v->spec->context = known ? f.context : 0;
    v->spec->parameters = known ? f.parameters : 0;
    v->spec->memory_gib = (struct opt_double){ask.least_memory > 0, (double)ask.least_memory / GIB};
    v->fits.v = ARENA_ARRAY(s->a, struct catalog_fit_view, p->n + 1);
    for (size_t i = 0; v->fits.v != NULL && i < p->n; i++) {
        set_fit(s, known ? &f : NULL, &ask, &p->v[i], &v->fits.v[v->fits.n]);
        struct catalog_fit_view *to = &v->fits.v[v->fits.n++];
        to->reason = why.n > 0 && str_is(to->verdict, "unknown") ? why : to->reason;
    }
}

/* ---- how fast it was ---- */

static struct opt_double measured(double v) {
    return (struct opt_double){v >= 0, v};
}

static int set_records(struct shelf *s, const struct catalog_model *m, struct catalog_model_view *v,
                       struct err *err) {
    struct str key = arena_f(s->a, "%.*s.ndjson", STR_ARG(m->name)), line;
    struct err why = {0};
    for (size_t i = 0; i < key.n; i++) {
        ((char *)key.p)[i] = key.p[i] == '/' ? '_' : key.p[i];
    }
    struct str text = json_str(json_get(s->data, key));
    struct catalog_record *r =
        text.n > 0 ? ARENA_ARRAY(s->a, struct catalog_record, RECORDS_MAX) : NULL;
    size_t n = 0;
    while (r != NULL && n < RECORDS_MAX && str_next(&text, '\n', &line)) {
        if (str_trim(line).n > 0 && catalog_record_read(s->a, line, &r[n++], &why) != 0) {
            return wrong(err, key, &why);
        }
    }
    v->records.v = ARENA_ARRAY(s->a, struct catalog_record_view, n + 1);
    for (size_t i = 0; v->records.v != NULL && i < n; i++) {
        v->records.v[v->records.n++] =
            (struct catalog_record_view){.config = r[i].config,
                                         .hardware = r[i].hardware,
                                         .use_case = r[i].use_case,
                                         .hardware_count = r[i].hardware_count,
                                         .requests = measured(r[i].requests),
                                         .ttft_p90 = measured(r[i].ttft_p90),
                                         .itl_p90 = measured(r[i].itl_p90),
                                         .e2e_p90 = measured(r[i].e2e_p90),
                                         .tps = measured(r[i].tps),
                                         .beaten = catalog_record_beaten(r, n, i)};
    }
    return 0;
}

/* ---- a model, a source, the sources ---- */

static int write_model(struct shelf *s, struct str source, const struct catalog_model *m,
                       struct str name, struct err *err) {
    struct meta meta = {.name = name};
    struct catalog_model_spec_view spec = {.source = source,
                                           .name = m->name,
                                           .provider = m->provider,
                                           .description = m->description,
                                           .license = m->license,
                                           .license_link = m->license_link,
                                           .library = m->library,
                                           .maturity = m->maturity,
                                           .created_ns = m->created_ms * 1000000,
                                           .updated_ns = m->updated_ms * 1000000};
    struct catalog_model_view v = {.metadata = &meta, .spec = &spec};
    spec.uri = m->n_artifacts > 0 ? m->artifacts[0].uri : (struct str){0};
    spec.tasks.v = m->tasks.v;
    spec.tasks.n = m->tasks.n;
    spec.languages.v = m->languages.v;
    spec.languages.n = m->languages.n;
    set_fits(s, m, &v);
    int r = set_records(s, m, &v, err);
    if (r == 0) {
        codec_list_object(&kind_catalog_model, &v, s->out);
    }
    return r;
}

static int read_source(struct shelf *s, const struct catalog_source *from, struct err *err) {
    struct str text = json_str(json_get(s->data, from->path));
    struct catalog c;
    struct err why = {0};
    if (text.n == 0) {
        err_set(&why, ERR_INVALID, "it is missing; source \"%.*s\" names it as yamlCatalogPath",
                STR_ARG(from->id));
        return wrong(err, from->path, &why);
    }
    if (catalog_read(s->a, text, &c, &why) != 0) {
        return wrong(err, from->path, &why);
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < c.n && s->n < LIMIT_CATALOG_SHOWN && !s->found; i++) {
        const struct catalog_model *m = &c.models[i];
        if (!catalog_shows(from, m->name)) {
            continue;
        }
        if (s->q->stop != NULL && atomic_load(s->q->stop)) {
            return err_set(err, ERR_UNAVAILABLE, "the question was withdrawn");
        }
        struct str name = name_new(s, from->id, m->name);
        bool asked =
            s->q->name.n > 0 ? str_eq(s->q->name, name) : catalog_filter_passes(&s->filter, m);
        s->n++;
        s->found = s->q->name.n > 0 && asked;
        r = name.n == 0 ? err_set(err, ERR_NOMEM, "out of memory")
            : asked     ? write_model(s, from->name.n > 0 ? from->name : from->id, m, name, err)
                        : 0;
    }
    return r;
}

static int read_sources(struct shelf *s, struct err *err) {
    struct catalog_sources all;
    struct err why = {0};
    struct str text = json_str(json_get(s->data, STR("sources.yaml")));
    if (text.n == 0) {
        return 0;
    }
    if (catalog_sources_read(s->a, text, &all, &why) != 0) {
        return wrong(err, STR("sources.yaml"), &why);
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < all.n; i++) {
        const struct catalog_source *from = &all.v[i];
        if (from->enabled && str_is(from->type, "yaml")) {
            r = read_source(s, from, err);
        }
    }
    return r;
}

int catalog_answer(const struct catalog_question *q, struct arena *a, struct buf *out,
                   struct err *err) {
    struct shelf s = {.q = q, .a = a, .out = out};
    yyjson_doc *doc = NULL;
    int r = q->map.n > 0 ? json_parse(a, q->map, &doc, err) : 0;
    if (r == 0 && catalog_filter_compile(a, q->filter, &s.filter, err) != 0) {
        err->code = err->code == ERR_NOMEM ? ERR_NOMEM : ERR_BAD_REQUEST; /* the asker's */
        return err->code;
    }
    s.data = doc != NULL ? json_get(yyjson_doc_get_root(doc), STR("data")) : NULL;
    if (r == 0 && q->name.n == 0) {
        codec_list_begin("CatalogModelList", STR("berth.dev"), STR("v1alpha1"), out);
    }
    r = r ? r : read_sources(&s, err);
    map_release(&s.names);
    if (r == 0 && q->name.n == 0) {
        codec_list_end(out);
    }
    if (r == 0 && q->name.n > 0 && !s.found) {
        return err_set(err, ERR_NOT_FOUND, "catalogmodels.berth.dev \"%.*s\" not found",
                       STR_ARG(q->name));
    }
    return r ? r : arena_ok(a) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
}

/* catalog_answer_test: a catalog's ConfigMap as CatalogModels: names, fits, filters, records, and what is wrong. */
#include "control/see/catalog_answer.h"

#include "base/limits.h"
#include "base/test.h"
#include "wire/json/json.h"

#define SOURCES                                                                                    \
    "catalogs: [{id: open, name: Open, type: yaml, enabled: true, properties: {yamlCatalogPath: "  \
    "a.yaml}, "                                                                                    \
    "excludedModels: [secret*]}, {id: idle, type: yaml, enabled: false, properties: "              \
    "{yamlCatalogPath: none}}]"
#define MODELS                                                                                     \
    "source: x\nmodels:\n"                                                                         \
    "- {name: Meta/Llama_3.1, license: llama3.1, customProperties: {config_json: "                 \
    "{metadataType: MetadataStringValue, string_value: '%s'}}, artifacts: [{uri: 'hf://m/l'}]}\n"  \
    "- {name: meta/llama-3.1, license: mit, customProperties: {min_vram_gb: "                      \
    "{metadataType: MetadataIntValue, int_value: '20'}}}\n"                                        \
    "- {name: bare, license: mit}\n"                                                               \
    "- {name: secret-one}\n"

static const char config[] =
    "{\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,"
    "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"intermediate_size\":14336,"
    "\"vocab_size\":128256,\"max_position_embeddings\":131072,\"torch_dtype\":\"bfloat16\"}";

struct bench {
    struct arena a;
    struct buf map, out;
    struct err err;
    yyjson_val *root;
    struct fit_places places;
    struct catalog_question q;
};

/* A ConfigMap of sources.yaml, a.yaml and one more key. */
static void stock(struct bench *b, const char *models, const char *key, const char *value) {
    *b = (struct bench){0};
    arena_init(&b->a, 64 << 20);
    buf_init(&b->map, 1 << 20);
    buf_init(&b->out, 8 << 20);
    buf_c(&b->map, "{\"data\":{\"sources.yaml\":");
    buf_json(&b->map, STR(SOURCES));
    buf_c(&b->map, ",\"a.yaml\":");
    buf_json(&b->map, str_of(models));
    buf_f(&b->map, ",\"%s\":", key);
    buf_json(&b->map, str_of(value));
    buf_c(&b->map, "}}");
    fit_places_model(&b->places, STR("H200"), gpu_models_find(STR("H200"), 0));
    b->q = (struct catalog_question){.map = buf_view(&b->map), .places = &b->places};
}

static int ask(struct bench *b) {
    yyjson_doc *doc = NULL;
    int r = catalog_answer(&b->q, &b->a, &b->out, &b->err);
    if (r == 0) {
        assert_int_equal(json_parse(&b->a, arena_str(&b->a, buf_view(&b->out)), &doc, NULL), 0);
        b->root = yyjson_doc_get_root(doc);
    }
    buf_release(&b->out);
    buf_init(&b->out, 8 << 20);
    return r;
}

static void end(struct bench *b) {
    buf_release(&b->map);
    buf_release(&b->out);
    arena_release(&b->a);
}

static yyjson_val *item(const struct bench *b, size_t i) {
    return yyjson_arr_get(json_get(b->root, STR("items")), i);
}

static yyjson_val *fit(yyjson_val *model, const char *slice) {
    yyjson_val *v;
    size_t i, n;
    yyjson_arr_foreach(json_get(model, STR("fits")), i, n, v) {
        if (str_is(json_str_at(v, "slice"), slice)) {
            return v;
        }
    }
    fail_msg("no slice %s", slice);
    return NULL;
}

static const char *models_text(struct bench *b) {
    static char text[4096];
    (void)b;
    snprintf(text, sizeof(text), MODELS, config);
    return text;
}

static void lists(void **state) {
    struct bench b;
    (void)state;
    stock(&b, models_text(&b), "x", "");
    assert_int_equal(ask(&b), 0);
    assert_int_equal(yyjson_arr_size(json_get(b.root, STR("items"))), 3); /* no secret-one */
    assert_str_eq(json_str(json_path(item(&b, 0), "metadata.name")), STR("open.meta-llama-3.1"));
    assert_str_eq(json_str(json_path(item(&b, 1), "metadata.name")), STR("open.meta-llama-3.1-2"));
    assert_str_eq(json_str(json_path(item(&b, 0), "spec.uri")), STR("hf://m/l"));
    assert_str_eq(json_str(json_path(item(&b, 0), "spec.source")), STR("Open"));
    assert_int_equal(yyjson_get_sint(json_path(item(&b, 0), "spec.parameters")), 8030261248);
    end(&b);
}

static void fits(void **state) {
    struct bench b;
    (void)state;
    stock(&b, models_text(&b), "x", "");
    b.q.context = 8192;
    assert_int_equal(ask(&b), 0);
    yyjson_val *small = fit(item(&b, 0), "1g.18gb"), *large = fit(item(&b, 0), "3g.71gb");
    assert_str_eq(json_str_at(small, "verdict"), STR("no"));
    assert_true(json_str_at(small, "flag").n > 0);
    assert_str_eq(json_str_at(large, "verdict"), STR("fits"));
    assert_true(yyjson_get_sint(json_get(large, STR("tokens"))) > 8192);
    /* of the second the memory alone is known, of the third nothing */
    assert_str_eq(json_str_at(fit(item(&b, 1), "1g.18gb"), "verdict"), STR("no"));
    assert_str_eq(json_str_at(fit(item(&b, 1), "2g.35gb"), "verdict"), STR("fits"));
    assert_str_eq(json_str_at(fit(item(&b, 2), "2g.35gb"), "verdict"), STR("unknown"));
    end(&b);
}

static void one_and_some(void **state) {
    struct bench b;
    (void)state;
    stock(&b, models_text(&b), "x", "");
    b.q.filter = STR("license = 'mit'");
    assert_int_equal(ask(&b), 0);
    assert_int_equal(yyjson_arr_size(json_get(b.root, STR("items"))), 2);
    b.q.filter = STR("license =");
    assert_int_equal(ask(&b), ERR_BAD_REQUEST);
    b.q.filter = (struct str){0};
    b.q.name = STR("open.meta-llama-3.1-2");
    assert_int_equal(ask(&b), 0);
    assert_str_eq(json_str_at(json_get(b.root, STR("spec")), "name"), STR("meta/llama-3.1"));
    b.q.name = STR("open.secret-one");
    assert_int_equal(ask(&b), ERR_NOT_FOUND);
    end(&b);
}

/* Each number behind a name is tried once: 2,000 alike are answered in the memory of a few. */
static void all_alike(void **state) {
    struct bench b;
    struct buf models;
    char name[200];
    (void)state;
    buf_init(&models, 1 << 20);
    buf_c(&models, "models:\n");
    for (int i = 0; i < LIMIT_CATALOG_SHOWN; i++) {
        buf_f(&models, "- {name: %0150d}\n", 0);
    }
    stock(&b, buf_cstr(&models), "x", "");
    b.q.name = str_from(
        name, (size_t)snprintf(name, sizeof(name), "open.%0150d-%d", 0, LIMIT_CATALOG_SHOWN));
    assert_int_equal(ask(&b), 0);
    assert_str_eq(json_str(json_path(b.root, "metadata.name")), b.q.name);
    buf_release(&models);
    end(&b);
}

static void withdrawn(void **state) {
    struct bench b;
    atomic_bool stop = true;
    (void)state;
    stock(&b, models_text(&b), "x", "");
    b.q.stop = &stop;
    assert_int_equal(ask(&b), ERR_UNAVAILABLE);
    assert_string_equal(b.err.text, "the question was withdrawn");
    end(&b);
}

static void records(void **state) {
    struct bench b;
    (void)state;
    stock(&b, models_text(&b), "Meta_Llama_3.1.ndjson",
          "{\"config_id\":\"a\",\"hardware_type\":\"H200\",\"hardware_count\":1,"
          "\"requests_per_second\":4,\"ttft_p90\":100}\n\n"
          "{\"config_id\":\"b\",\"hardware_type\":\"H200\",\"hardware_count\":1,"
          "\"requests_per_second\":3,\"ttft_p90\":120}\n");
    assert_int_equal(ask(&b), 0);
    yyjson_val *all = json_get(item(&b, 0), STR("records"));
    assert_int_equal(yyjson_arr_size(all), 2);
    assert_false(yyjson_is_true(json_get(yyjson_arr_get(all, 0), STR("beaten"))));
    assert_true(yyjson_is_true(json_get(yyjson_arr_get(all, 1), STR("beaten"))));
    assert_null(json_get(yyjson_arr_get(all, 0), STR("itlP90"))); /* not measured */
    end(&b);
}

static void wrong(void **state) {
    struct bench b;
    (void)state;
    stock(&b, "models: [{name: a, tasks: 3}]", "x", "");
    assert_int_equal(ask(&b), ERR_UNAVAILABLE);
    assert_non_null(strstr(b.err.text, "key \"a.yaml\": models[0].tasks"));
    end(&b);
    stock(&b, "", "x", "");
    assert_int_equal(ask(&b), ERR_UNAVAILABLE);
    assert_non_null(strstr(b.err.text, "key \"a.yaml\": it is missing"));
    b.q.map = (struct str){0}; /* no ConfigMap is an empty catalog */
    assert_int_equal(ask(&b), 0);
    assert_int_equal(yyjson_arr_size(json_get(b.root, STR("items"))), 0);
    end(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),     cmocka_unit_test(fits),  cmocka_unit_test(one_and_some),
        cmocka_unit_test(records),   cmocka_unit_test(wrong), cmocka_unit_test(all_alike),
        cmocka_unit_test(withdrawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

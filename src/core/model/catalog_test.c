/* catalog_test: a catalog as the registry has them, its filters, and files that are wrong. */
#include "core/model/catalog.h"

#include "base/test.h"
#include "core/model/catalog_filter.h"

static struct arena arena;
static struct catalog c;

static const char text[] =
    "source: Red Hat\n"
    "models:\n"
    "- name: granite-8b\n"
    "  provider: IBM\n"
    "  license: apache-2.0\n"
    "  tasks: [text-generation, chat]\n"
    "  language: [en, de]\n"
    "  createTimeSinceEpoch: \"1733514949000\"\n"
    "  unknownField: {a: 1}\n"
    "  customProperties:\n"
    "    min_vram_gb: {metadataType: MetadataIntValue, int_value: \"20\"}\n"
    "    size: {metadataType: MetadataStringValue, string_value: 8B params}\n"
    "    validated: {metadataType: MetadataStringValue, string_value: \"\"}\n"
    "    score: {metadataType: MetadataDoubleValue, double_value: 0.75}\n"
    "    open: {metadataType: MetadataBoolValue, bool_value: true}\n"
    "    other: {metadataType: MetadataStructValue, struct_value: x}\n"
    "  artifacts:\n"
    "  - uri: oci://registry.example/granite:1\n"
    "- name: llama-70b\n"
    "  license: llama3.1\n"
    "  tasks: [text-generation]\n"
    "  customProperties:\n"
    "    min_vram_gb: {metadataType: MetadataIntValue, int_value: 160}\n";

static int setup(void **state) {
    struct err err = {0};
    arena_init(&arena, 64 << 20);
    return catalog_read(&arena, str_of(text), &c, &err);
}

static int teardown(void **state) {
    arena_release(&arena);
    return 0;
}

static void read_it(void **state) {
    assert_str_eq(c.source, STR("Red Hat"));
    assert_int_equal(c.n, 2);
    const struct catalog_model *m = &c.models[0];
    assert_int_equal(m->created_ms, 1733514949000);
    assert_int_equal(m->tasks.n, 2);
    assert_int_equal(m->custom.n, 5); /* without the struct */
    assert_str_eq(m->artifacts[0].uri, STR("oci://registry.example/granite:1"));
    assert_int_equal(catalog_memory(m), INT64_C(20) << 30);
    assert_int_equal(catalog_property(m, STR("none")).kind, CATALOG_NONE);
    assert_int_equal(catalog_property(m, STR("size.string_value")).kind, CATALOG_TEXT);
}

static void filters(void **state) {
    static const struct {
        const char *query;
        bool first, second;
    } cases[] = {
        {"", true, true},
        {"license = 'apache-2.0'", true, false},
        {"license != 'apache-2.0'", false, true},
        {"provider = 'IBM' OR name = 'llama-70b'", true, true},
        {"provider != 'IBM'", false, true}, /* it has none */
        {"provider <> ''", true, false},    /* an absent text of a field is empty */
        {"tasks = 'chat'", true, false},
        {"tasks != 'chat'", false, true},
        {"tasks IN ('chat', 'x')", true, false},
        {"tasks NOT IN ('chat', 'x')", false, true},
        {"min_vram_gb <= 24", true, false},
        {"min_vram_gb.int_value > 24.5", false, true},
        {"NOT min_vram_gb > 24", true, false},
        {"score >= 0.75 AND open = true", true, false},
        {"open = 'true'", false, false},
        {"validated = ''", true, false},
        {"name LIKE 'granite%'", true, false},
        {"name LIKE 'Granite%'", false, false},
        {"name ilike 'G%_8B'", true, false},
        {"name NOT LIKE '%b'", false, false},
        {"size LIKE '8B%' and (license='x' or license = 'apache-2.0')", true, false},
        {"license='x' OR license='y' AND name='llama-70b' OR name='granite-8b'", true, false},
        {"`min_vram_gb` IN (20, 160)", true, true},
        {"name = 'it''s'", false, false},
        {"min_vram_gb = '20'", true, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct catalog_filter f;
        struct err err = {0};
        assert_ok(catalog_filter_compile(&arena, str_of(cases[i].query), &f, &err), &err);
        bool a = catalog_filter_passes(&f, &c.models[0]),
             b = catalog_filter_passes(&f, &c.models[1]);
        if (a != cases[i].first || b != cases[i].second) {
            print_error("%s: %d %d\n", cases[i].query, a, b);
            fail();
        }
    }
}

static void wrong_filters(void **state) {
    static const char *const bad[] = {
        "license", "license =", "license = 'x", "= 'x'",    "a = 1 b = 2",
        "(a = 1",  "a = 1)",    "a IN 1",       "a IN (1",  "a NOT = 1",
        "a = b",   "AND",       "a = 1 AND",    "NOT",      "a = 1 OR OR b = 2",
        "a LIKE",  "a = 1e999", "a = nan",      "'a' = 'b'"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct catalog_filter f;
        struct err err = {0};
        if (catalog_filter_compile(&arena, str_of(bad[i]), &f, &err) != ERR_SYNTAX) {
            print_error("taken: %s (%s)\n", bad[i], err.text);
            fail();
        }
        assert_non_null(strstr(err.text, "expected"));
    }
    char deep[400];
    struct catalog_filter f;
    memset(deep, '(', sizeof(deep));
    assert_int_equal(catalog_filter_compile(&arena, str_from(deep, sizeof(deep)), &f, NULL),
                     ERR_TOO_LARGE);
}

static void wrong_files(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"- a", "expected an object"},
        {"source: x", "models: expected a list"},
        {"models: 3", "models: expected a list"},
        {"models: [{provider: x}]", "models[0].name"},
        {"models: [{name: a}, {name: 3}]", "models[1].name: expected a text"},
        {"models: [{name: a, tasks: chat}]", "models[0].tasks: expected a list"},
        {"models: [{name: a, tasks: [3]}]", "models[0].tasks: expected texts"},
        {"models: [{name: a, createTimeSinceEpoch: soon}]", "ms since 1970"},
        {"models: [{name: a, customProperties: {x: 3}}]", "metadataType"},
        {"models: [{name: a, customProperties: {x: {int_value: many}}}]", "metadataType"},
        {"models: [3]", "models[0].name"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct catalog x = {.n = 5};
        struct err err = {0};
        int code = catalog_read(&arena, str_of(cases[i].text), &x, &err);
        if (code != ERR_INVALID || strstr(err.text, cases[i].says) == NULL || x.n != 5) {
            print_error("%s: %d %s\n", cases[i].text, code, err.text);
            fail();
        }
    }
}

static void sources(void **state) {
    struct catalog_sources s;
    struct err err = {0};
    assert_ok(
        catalog_sources_read(
            &arena,
            STR("catalogs:\n- {id: a, name: A, type: yaml, properties: {yamlCatalogPath: a.yaml},"
                " includedModels: [\"granite*\"], excludedModels: [\"*-base\"]}\n"
                "- {id: b, type: hf, enabled: false}\n"),
            &s, &err),
        &err);
    assert_int_equal(s.n, 2);
    assert_str_eq(s.v[0].path, STR("a.yaml"));
    assert_true(catalog_shows(&s.v[0], STR("granite-8b")));
    assert_false(catalog_shows(&s.v[0], STR("granite-8b-base")));
    assert_false(catalog_shows(&s.v[0], STR("llama")));
    assert_false(catalog_shows(&s.v[1], STR("any")));
    assert_int_equal(catalog_sources_read(&arena, STR("catalogs: [{id: a, type: yaml}]"), &s, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.text, "catalogs[0].properties.yamlCatalogPath"));
}

static void records(void **state) {
    static const char *const lines[] = {
        "{\"hardware_type\":\"H100\",\"hardware_count\":1,\"requests_per_second\":7,\"ttft_p90\":"
        "100}",
        "{\"hardware_type\":\"H100\",\"hardware_count\":2,\"requests_per_second\":10,\"ttft_p90\":"
        "90}",
        "{\"hardware_type\":\"A100\",\"hardware_count\":2,\"requests_per_second\":8,\"ttft_p90\":"
        "120}",
        "{\"hardware_type\":\"L4\"}",
        "{\"hardware_type\":\"B200\",\"requests_per_second\":100}",
    };
    struct catalog_record v[5];
    struct err err = {0};
    for (int i = 0; i < 5; i++) {
        assert_ok(catalog_record_read(&arena, str_of(lines[i]), &v[i], &err), &err);
    }
    assert_int_equal(catalog_record_replicas(&v[0], 50), 8);
    assert_int_equal(catalog_record_replicas(&v[3], 50), 0); /* not measured */
    assert_false(catalog_record_beaten(v, 5, 0)); /* not by one whose first token nobody timed */
    assert_false(catalog_record_beaten(v, 5, 1)); /* fewer a GPU, but sooner */
    assert_true(catalog_record_beaten(v, 5, 2));
    assert_false(catalog_record_beaten(v, 5, 3));
    assert_int_equal(catalog_record_read(&arena, STR("{}"), &v[0], &err), ERR_INVALID);
    assert_int_equal(catalog_record_read(&arena, STR("nothing"), &v[0], &err), ERR_SYNTAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read_it, setup, teardown),
        cmocka_unit_test_setup_teardown(filters, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_files, setup, teardown),
        cmocka_unit_test_setup_teardown(sources, setup, teardown),
        cmocka_unit_test_setup_teardown(records, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

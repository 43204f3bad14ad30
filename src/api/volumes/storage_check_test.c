/* Tests of the rules of claims, volumes, classes and snapshots, and of their columns, in Kubernetes' words. */
#include "api/schema/codec.h"
#include "base/test.h"

#define CLAIM(spec_)                                                                               \
    "{\"metadata\":{\"name\":\"c\",\"namespace\":\"a\",\"uid\":\"1\"},\"spec\":{" spec_ "}}"
#define MODES "\"accessModes\":[\"ReadWriteOnce\"]"
#define SIZE(n_) "\"resources\":{\"requests\":{\"storage\":\"" n_ "\"}}"
#define VOLUME(spec_) "{\"metadata\":{\"name\":\"v\",\"uid\":\"1\"},\"spec\":{" spec_ "}}"
#define CAPACITY "\"capacity\":{\"storage\":\"1Gi\"}"

static yyjson_mut_val *read_in(struct arena *a, const struct kind *k, const char *json) {
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_ok(json_parse_mut(a, str_of(json), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    return yyjson_mut_doc_get_root(d);
}

/* The violated rules of an object, or of its change from `old`, as lines. */
static struct str faults(struct arena *a, const char *version, const char *kind, const char *now,
                         const char *old) {
    const struct kind *k = kind_by_api_version(str_of(version), str_of(kind));
    struct causes c = {.arena = a};
    yyjson_doc *was = NULL;
    struct buf b;
    assert_non_null(k);
    buf_init(&b, 0);
    if (old) {
        json_write_mut(&b, read_in(a, k, old));
        assert_int_equal(json_parse(a, arena_str(a, buf_view(&b)), &was, NULL), 0);
        buf_reset(&b);
    }
    assert_int_equal(
        codec_validate(k, read_in(a, k, now), was ? yyjson_doc_get_root(was) : NULL, &c), 0);
    for (size_t i = 0; i < c.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(c.v[i].field), STR_ARG(c.v[i].text));
    }
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

struct rule_case {
    const char *kind, *now, *old, *want;
};

static const struct rule_case cases[] = {
    {"PersistentVolumeClaim", CLAIM(MODES "," SIZE("1Gi")), NULL, ""},
    {"PersistentVolumeClaim", CLAIM(SIZE("1Gi")), NULL,
     "spec.accessModes: Required value: at least 1 access mode is required\n"},
    {"PersistentVolumeClaim", CLAIM(MODES), NULL, "spec.resources[storage]: Required value\n"},
    {"PersistentVolumeClaim", CLAIM(MODES "," SIZE("0")), NULL,
     "spec.resources[storage]: Invalid value: \"0\": must be greater than zero\n"},
    {"PersistentVolumeClaim",
     CLAIM("\"accessModes\":[\"ReadWriteOncePod\",\"ReadWriteOnce\"]," SIZE("1")), NULL,
     "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes\n"},
    {"PersistentVolumeClaim", CLAIM(MODES "," SIZE("1") ",\"volumeMode\":\"Block\""), NULL,
     "spec.volumeMode: Forbidden: volumes of this machine are folders: Block is not supported\n"},
    {"PersistentVolumeClaim",
     CLAIM(MODES "," SIZE("1") ",\"dataSource\":{\"kind\":\"Pod\",\"name\":\"x\"}"), NULL,
     "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing "
     "the "
     "default apiGroup\n"},
    {"PersistentVolumeClaim", CLAIM("\"accessModes\":[\"ReadWriteMany\"]," SIZE("1Gi")),
     CLAIM(MODES "," SIZE("1Gi")),
     "spec: Forbidden: spec is immutable after creation except resources.requests and "
     "volumeAttributesClassName for bound claims\n"},
    {"PersistentVolumeClaim", CLAIM(MODES "," SIZE("1Gi") ",\"volumeName\":\"v\""),
     CLAIM(MODES "," SIZE("1Gi")), ""},
    {"PersistentVolume", VOLUME(CAPACITY "," MODES ",\"hostPath\":{\"path\":\"/x\"}"), NULL, ""},
    {"PersistentVolume", VOLUME(CAPACITY "," MODES), NULL,
     "spec: Required value: must specify a volume type: hostPath, local or csi\n"},
    {"PersistentVolume", VOLUME(CAPACITY "," MODES ",\"hostPath\":{\"path\":\"/a/../b\"}"), NULL,
     "spec.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'\n"},
    {"PersistentVolume", VOLUME(CAPACITY "," MODES ",\"local\":{\"path\":\"/x\"}"), NULL,
     "spec.nodeAffinity: Required value: Local volume requires node affinity\n"},
    {"PersistentVolume", VOLUME(CAPACITY "," MODES ",\"hostPath\":{\"path\":\"/y\"}"),
     VOLUME(CAPACITY "," MODES ",\"hostPath\":{\"path\":\"/x\"}"),
     "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after "
     "creation\n"},
    {"PersistentVolume",
     VOLUME(CAPACITY "," MODES ",\"csi\":{\"driver\":\"nfs.io\",\"volumeHandle\":\"x\"}"), NULL,
     "spec.csi.driver: Unsupported value: \"nfs.io\": supported values: \"local.berth.dev\"\n"},
    {"PersistentVolume",
     VOLUME(CAPACITY "," MODES
                     ",\"csi\":{\"driver\":\"local.berth.dev\",\"volumeHandle\":\"../etc\"}"),
     NULL, "*spec.csi.volumeHandle: Invalid value: \"../etc\""},
};

static void rules(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct arena a;
        arena_init(&a, 1 << 22);
        struct str got = faults(&a, "v1", cases[i].kind, cases[i].now, cases[i].old);
        struct str want = str_of(cases[i].want);
        if (str_starts(want, STR("*"))) {
            assert_true(str_starts(got, str_skip(want, 1)));
        } else {
            assert_str_eq(got, want);
        }
        arena_release(&a);
    }
}

static void classes(void **state) {
    struct arena a;
    (void)state;
    arena_init(&a, 1 << 22);
#define CLASS(rest_)                                                                               \
    "{\"metadata\":{\"name\":\"s\",\"uid\":\"1\"},\"provisioner\":\"berth.dev/local\"" rest_ "}"
    assert_str_eq(faults(&a, "storage.k8s.io/v1", "StorageClass", CLASS(""), NULL), STR(""));
    assert_str_eq(faults(&a, "storage.k8s.io/v1", "StorageClass",
                         CLASS(",\"parameters\":{\"a\":\"b\"}"), NULL),
                  STR("parameters: Forbidden: the provisioner berth.dev/local has no "
                      "parameters\n"));
    assert_str_eq(faults(&a, "storage.k8s.io/v1", "StorageClass",
                         CLASS(",\"reclaimPolicy\":\"Retain\""), CLASS("")),
                  STR("reclaimPolicy: Invalid value: \"Retain\": field is immutable\n"));
    arena_release(&a);
}

/* What kubectl shows. */
static struct str cells(struct arena *a, const char *kind, const char *json) {
    const struct kind *k = kind_by_api_version(STR("v1"), str_of(kind));
    yyjson_doc *d;
    struct buf b;
    assert_int_equal(json_parse(a, str_of(json), &d, NULL), 0);
    buf_init(&b, 0);
    codec_cells(k, NULL, yyjson_doc_get_root(d), 0, &b);
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

static void columns(void **state) {
    struct arena a;
    (void)state;
    arena_init(&a, 1 << 22);
    struct str got = cells(
        &a, "PersistentVolumeClaim",
        CLAIM("\"volumeName\":\"v\",\"storageClassName\":\"local\",\"volumeMode\":\"Filesystem\"}"
              ",\"status\":{\"phase\":\"Bound\",\"accessModes\":[\"ReadWriteMany\","
              "\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"1Gi\"}"));
    assert_true(str_starts(got, STR("[\"c\",\"Bound\",\"v\",\"1Gi\",\"RWO,RWX\",\"local\","
                                    "\"<unset>\",")));
    got = cells(&a, "PersistentVolume",
                VOLUME(CAPACITY "," MODES ",\"persistentVolumeReclaimPolicy\":\"Delete\","
                                "\"claimRef\":{\"namespace\":\"a\",\"name\":\"c\"}},"
                                "\"status\":{\"phase\":\"Bound\""));
    assert_true(str_starts(
        got, STR("[\"v\",\"1Gi\",\"RWO\",\"Delete\",\"Bound\",\"a/c\",\"\",\"<unset>\",\"\",")));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules),
        cmocka_unit_test(classes),
        cmocka_unit_test(columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* pod_refuse: what is refused says which field and why; docs/pods.md has a row for every field that there is. */
#include "base/test.h"

#include <stdio.h>

#include "api/kinds/kinds.h"
#include "api/tables/view_core.h"

struct doc {
    struct arena arena;
    struct {
        struct str path, what;
        bool met;
    } rows[256];
    size_t n;
};

/* The rows of the table: | `path` | what | ... | */
static void read_doc(struct doc *d) {
    struct buf b;
    char bytes[4096];
    struct str rest, line, part;
    size_t n;
    FILE *f = fopen(BERTH_DOCS "/pods.md", "r");

    assert_non_null(f);
    arena_init(&d->arena, 16 << 20);
    buf_init(&b, 1 << 20);
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0) {
        buf_add(&b, bytes, n);
    }
    fclose(f);
    rest = arena_str(&d->arena, buf_view(&b));
    buf_release(&b);
    while (str_next(&rest, '\n', &line)) {
        if (!str_starts(line, STR("| `"))) {
            continue;
        }
        line = str_skip(line, 3);
        assert_true(d->n < COUNT(d->rows));
        assert_true(str_next(&line, '`', &d->rows[d->n].path));
        str_next(&line, '|', &part);
        str_next(&line, '|', &part);
        d->rows[d->n++].what = str_trim(part);
    }
    assert_true(d->n > 50);
}

/* Is `path` the row's field or below it? */
static bool below(struct str path, struct str row) {
    struct str rest = str_skip(path, row.n);

    return str_starts(path, row) && (rest.n == 0 || rest.p[0] == '.' || rest.p[0] == '[');
}

static void meet(struct doc *d, struct str path) {
    for (size_t i = 0; i < d->n; i++) {
        d->rows[i].met |= str_eq(d->rows[i].path, path);
    }
}

static void walk(struct doc *d, const struct schema *of, struct str up, int depth) {
    for (size_t i = 0; i < of->n; i++) {
        const struct field *f = &of->fields[i];
        struct str path = arena_f(&d->arena, "%.*s%s%s%s", STR_ARG(up), up.n ? "." : "", f->json,
                                  f->shape == FIELD_LIST && f->type == FIELD_OBJECT ? "[]" : "");
        bool covered = false;
        meet(d, path);
        for (size_t k = 0; k < d->n; k++) {
            covered |= below(path, d->rows[k].path);
        }
        bool goes_on = f->type == FIELD_OBJECT && f->of && depth < 6 &&
                       !str_starts(path, STR("initContainers")) &&
                       !str_starts(path, STR("ephemeralContainers"));
        if (goes_on) {
            walk(d, f->of, path, depth + 1);
        } else if (!covered) {
            fail_msg("docs/pods.md has no row for %.*s", STR_ARG(path));
        }
    }
}

static bool row_says(struct doc *d, const char *prefix, const char *path, const char *what) {
    struct str want = arena_f(&d->arena, "%s%s", prefix, path), row;

    for (size_t i = 0; i < d->n; i++) {
        row = d->rows[i].path;
        row.n -= str_ends(row, STR("[]")) ? 2 : 0;
        if ((str_eq(row, want) || (str_is(row, "os") && str_is(want, "os.name"))) &&
            str_is(d->rows[i].what, what)) {
            return true;
        }
    }
    return false;
}

static void test_every_field_has_a_row(void **state) {
    static struct doc d;
    size_t n, refused = 0, rows = 0;

    read_doc(&d);
    walk(&d, &schema_pod_spec, STR(""), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (!d.rows[i].met) {
            fail_msg("%.*s of docs/pods.md is no field", STR_ARG(d.rows[i].path));
        }
        rows += str_is(d.rows[i].what, "refused");
    }
    for (int k = 0; k < 2; k++) {
        const struct pod_refusal *r = pod_refusals(k == 1, &n);
        for (size_t i = 0; i < n; i++) {
            refused++;
            if (!row_says(&d, k ? "containers[]." : "", r[i].path, "refused")) {
                fail_msg("docs/pods.md does not say that %s is refused", r[i].path);
            }
        }
    }
    assert_int_equal(rows, refused);
    arena_release(&d.arena);
}

static void refuse(const char *spec, const char *want) {
    struct arena a;
    struct causes c = {.arena = &a};
    struct path at = path_member(NULL, "spec");
    yyjson_mut_doc *d;
    struct buf b;
    struct err err;

    arena_init(&a, 16 << 20);
    buf_init(&b, 1 << 16);
    assert_ok(json_parse_mut(&a, str_of(spec), &d, &err), &err);
    pod_refuse(yyjson_mut_doc_get_root(d), &at, &c);
    for (size_t i = 0; i < c.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(c.v[i].field), STR_ARG(c.v[i].text));
    }
    if (!*want ? b.n > 0 : strstr(buf_cstr(&b), want) == NULL) {
        fail_msg("%s: %s", spec, buf_cstr(&b));
    }
    buf_release(&b);
    arena_release(&a);
}

#define ONE(member) "{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"," member "}]}"

static void test_refused(void **state) {
    refuse("{\"hostPID\":true}", "spec.hostPID: Forbidden: a pod sees its own processes alone");
    refuse("{\"hostPID\":false,\"securityContext\":{}}", "");
    refuse("{\"securityContext\":{\"runAsUser\":0}}", ""); /* admission knows the range */
    refuse("{\"securityContext\":{\"runAsNonRoot\":true,\"fsGroup\":5,\"seccompProfile\":{\"type\":"
           "\"RuntimeDefault\"}}}",
           "");
    refuse("{\"securityContext\":{\"seccompProfile\":{\"type\":\"Unconfined\"}}}",
           "spec.securityContext.seccompProfile.type: Forbidden: ");
    refuse(ONE("\"securityContext\":{\"privileged\":true}"),
           "spec.containers[1].securityContext.privileged: Forbidden: ");
    refuse(ONE("\"securityContext\":{\"capabilities\":{\"drop\":[\"ALL\"]}}"), "");
    refuse(ONE("\"securityContext\":{\"capabilities\":{\"add\":[\"NET_ADMIN\"]}}"),
           "spec.containers[1].securityContext.capabilities.add: Forbidden: ");
    refuse(ONE("\"volumeMounts\":[{\"mountPropagation\":\"None\"},{\"mountPropagation\":"
               "\"Bidirectional\"}]"),
           "spec.containers[1].volumeMounts[1].mountPropagation: Forbidden: ");
    refuse(ONE("\"restartPolicy\":\"Never\""), "spec.containers[1].restartPolicy: Forbidden: ");
    refuse("{\"initContainers\":[{\"restartPolicy\":\"Always\"}]}", "");
    refuse("{\"initContainers\":[{\"restartPolicy\":\"OnFailure\"}]}",
           "spec.initContainers[0].restartPolicy: Forbidden: ");
}

/* now, was: specs of a pod whose ephemeral containers are written. */
static void ephemeral(const char *now, const char *was, const char *want) {
    struct arena a;
    struct causes c = {.arena = &a};
    struct path at = path_member(NULL, "spec");
    yyjson_mut_doc *d;
    yyjson_doc *old;
    struct buf b;
    struct err err;

    arena_init(&a, 16 << 20);
    buf_init(&b, 1 << 16);
    assert_ok(json_parse_mut(&a, str_of(now), &d, &err), &err);
    assert_ok(json_parse(&a, str_of(was), &old, &err), &err);
    pod_ephemeral_check(yyjson_mut_doc_get_root(d), yyjson_doc_get_root(old), &at, &c);
    for (size_t i = 0; i < c.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(c.v[i].field), STR_ARG(c.v[i].text));
    }
    if (!*want ? b.n > 0 : strstr(buf_cstr(&b), want) == NULL) {
        fail_msg("%s: %s", now, buf_cstr(&b));
    }
    buf_release(&b);
    arena_release(&a);
}

#define EPHEMERAL(list) "{\"containers\":[{\"name\":\"a\"}],\"ephemeralContainers\":[" list "]}"
#define DEBUGGER(more) EPHEMERAL("{\"name\":\"d\",\"image\":\"i\"" more "}")
#define NOT_HERE "Forbidden: cannot be set for an Ephemeral Container"

static void test_ephemeral(void **state) {
    ephemeral(DEBUGGER(""), EPHEMERAL(""), "");
    ephemeral(DEBUGGER(",\"targetContainerName\":\"a\",\"resources\":{},\"tty\":true"),
              EPHEMERAL(""), "");
    ephemeral(DEBUGGER(",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}"), EPHEMERAL(""),
              "spec.ephemeralContainers[0].resources: " NOT_HERE);
    ephemeral(DEBUGGER(",\"ports\":[{\"containerPort\":1}]"), EPHEMERAL(""),
              "spec.ephemeralContainers[0].ports: " NOT_HERE);
    ephemeral(DEBUGGER(",\"volumeMounts\":[{\"name\":\"v\",\"subPath\":\"x\"}]"), EPHEMERAL(""),
              "spec.ephemeralContainers[0].volumeMounts[0].subPath: " NOT_HERE);
    ephemeral(DEBUGGER(",\"targetContainerName\":\"z\""), EPHEMERAL(""),
              "spec.ephemeralContainers[0].targetContainerName: Invalid value: \"z\"");
    ephemeral(DEBUGGER(",\"securityContext\":{\"privileged\":true}"), EPHEMERAL(""),
              "spec.ephemeralContainers[0].securityContext.privileged: Forbidden: ");
    ephemeral(EPHEMERAL("{\"name\":\"a\"}"), EPHEMERAL(""),
              "spec.ephemeralContainers[0].name: Duplicate value: \"a\"");
    ephemeral(EPHEMERAL(""), DEBUGGER(""), "spec.ephemeralContainers: Forbidden: existing");
    ephemeral(DEBUGGER(",\"tty\":true"), DEBUGGER(""),
              "spec.ephemeralContainers: Forbidden: existing");
    /* One that was there is not judged again. */
    ephemeral(DEBUGGER(",\"ports\":[{\"containerPort\":1}]"),
              DEBUGGER(",\"ports\":[{\"containerPort\":1}]"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_has_a_row),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ephemeral),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

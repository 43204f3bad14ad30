/* What declared controllers read and write is what `berth operate` watches and what the cluster role allows. */
#include "api/manifests/manifest.h"
#include "base/test.h"
#include "control/control.h"
#include "control/kit/controller.h"
#include "world/operate/operate_kinds.h"

enum {
    FOR_CLUSTERS = CONTROL_CLUSTER | CONTROL_RESERVATIONS | CONTROL_JOBS,
    WATCHED = FOR_CLUSTERS | CONTROL_SERVING, /* its rights are of `berth manifests serving` */
};

static const struct operate_kind *find(const struct operate_kind *v, size_t n,
                                       const struct kind *k) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].kind == k) {
            return &v[i];
        }
    }
    return NULL;
}

/* Each kind that a row names is watched for its set, and waited for unless the row can do without. */
static void test_kinds(void **state) {
    size_t n;
    const struct controller_row *const *rows = control_rows(&n);
    for (size_t i = 0; i < n; i++) {
        struct operate_kind v[OPERATE_KINDS_MAX];
        struct operate_reads reads = {.set = rows[i]->set, .settings = queue_settings_defaults()};
        size_t m = rows[i]->set & WATCHED ? operate_kinds(&reads, v) : 0;
        for (size_t k = 0; m > 0 && k < rows[i]->n_kinds; k++) {
            const struct controller_kind *own = &rows[i]->kinds[k];
            const struct kind *kind = own->kind && !own->embedded
                                          ? kind_by_name(str_of(own->group), str_of(own->kind))
                                          : NULL;
            const struct operate_kind *o = kind ? find(v, m, kind) : NULL;
            if (kind && (o == NULL || o->required == own->optional)) {
                print_error("%s: %s is %s\n", rows[i]->who, own->kind,
                            o == NULL     ? "not watched"
                            : o->required ? "waited for"
                                          : "not waited for");
                fail();
            }
        }
    }
}

static bool listed(struct str list, const char *word) {
    struct str part;
    while (str_next(&list, ',', &part)) {
        if (str_is(str_trim(part), word)) {
            return true;
        }
    }
    return false;
}

/* What stands between two texts, from `from` on. */
static struct str between(struct str s, const char *from, const char *to) {
    const char *p = strstr(s.p, from), *end = p ? strstr(p, to) : NULL;
    return p && end && end < s.p + s.n
               ? str_from(p + strlen(from), (size_t)(end - p) - strlen(from))
               : (struct str){0};
}

/* Whether a rule of the manager's role allows the verb. */
static bool allowed(const char *role, const char *group, const char *resource, const char *verb) {
    char want[128];
    snprintf(want, sizeof want, "- apiGroups: [\"%s\"]", group);
    for (const char *p = strstr(role, want); p; p = strstr(p + 1, want)) {
        const char *next = strstr(p + 1, "- apiGroups:");
        struct str rule = str_from(p, next ? (size_t)(next - p) : strlen(p));
        if (listed(between(rule, "resources: [", "]"), resource) &&
            listed(between(rule, "verbs: [", "]"), verb) &&
            between(rule, "resourceNames: [", "]").n == 0) {
            return true;
        }
    }
    return false;
}

/* Each write that a row of the sets declares is in the role, and its kinds can be read. */
static void rows_are_in(const char *role, unsigned sets) {
    static const struct {
        unsigned may;
        const char *verb, *sub;
    } verbs[] = {
        {0, "list", ""},          {0, "watch", ""},           {MAY_CREATE, "create", ""},
        {MAY_PATCH, "patch", ""}, {MAY_DELETE, "delete", ""}, {MAY_STATUS, "patch", "/status"}};
    size_t n;
    const struct controller_row *const *rows = control_rows(&n);
    for (size_t i = 0; i < n; i++) {
        const struct controller_row *row = rows[i];
        for (size_t k = 0; (row->set & sets) && k < row->n_kinds; k++) {
            const struct controller_kind *own = &row->kinds[k];
            for (size_t v = 0; own->kind && !own->embedded && v < sizeof verbs / sizeof *verbs;
                 v++) {
                char resource[128];
                snprintf(resource, sizeof resource, "%s%s",
                         kind_by_name(str_of(own->group), str_of(own->kind))->plural, verbs[v].sub);
                if ((own->may & verbs[v].may) == verbs[v].may &&
                    !allowed(role, own->group, resource, verbs[v].verb)) {
                    print_error("%s may not %s %s\n", row->who, verbs[v].verb, resource);
                    fail();
                }
            }
        }
    }
}

static void test_role(void **state) {
    static int (*const write[])(const struct manifest_options *o, struct buf *out,
                                struct err *err) = {manifest_rbac, manifest_serving};
    static const unsigned sets[] = {CONTROL_CLUSTER | CONTROL_RESERVATIONS, CONTROL_SERVING};
    for (size_t i = 0; i < 2; i++) {
        struct manifest_options options;
        struct buf b;
        buf_init(&b, 0);
        manifest_defaults(&options);
        assert_int_equal(write[i](&options, &b, NULL), 0);
        char *role = strstr(buf_cstr(&b), "kind: ClusterRole\n");
        assert_non_null(role);
        *strstr(role, "---") = 0;
        rows_are_in(role, sets[i]);
        buf_release(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

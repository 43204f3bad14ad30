/* tables: what the compiler cannot check of a row's C member (tables/member.h), over every schema of every kind. */
#include "base/test.h"

#include "api/schema/codec.h"

enum { SCHEMAS_MAX = 2048 };

struct seen {
    const struct schema *v[SCHEMAS_MAX];
    size_t n;
};

static void visit(struct seen *seen, const struct schema *s) {
    for (size_t i = 0; i < seen->n; i++) {
        if (seen->v[i] == s) {
            return;
        }
    }
    assert_true(seen->n < SCHEMAS_MAX);
    seen->v[seen->n++] = s;
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].of != NULL) {
            visit(seen, s->fields[i].of);
        }
    }
}

static void visit_all(struct seen *seen) {
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < kinds[i]->n_versions; v++) {
            visit(seen, kinds[i]->versions[v].schema);
        }
    }
    for (size_t i = 0; i < kind_rows.n_bodies; i++) {
        visit(seen, kind_rows.bodies[i]->versions[0].schema);
    }
}

static void check_row(const struct schema *s, const struct field *f) {
    bool object = f->type == FIELD_OBJECT,
         has_opt = f->type == FIELD_BOOL || f->type == FIELD_INT32 || f->type == FIELD_INT64 ||
                   f->type == FIELD_QUANTITY;
    bool refers = object || (f->flags & FIELD_F_EITHER);
    if (f->json_n != strlen(f->json) || refers != (f->of != NULL)) {
        fail_msg("%s.%s: a name or an `of` that is not the row's", s->name, f->json);
    }
    if (f->member < 0) {
        return;
    }
    if (object && f->member_size != f->of->size) {
        fail_msg("%s.%s: the member has room for %u bytes, the view of %s has %zu", s->name,
                 f->json, f->member_size, f->of->name, f->of->size);
    }
    if (has_opt && f->shape == FIELD_ONE && f->member_opt != !!(f->flags & FIELD_F_OPT)) {
        fail_msg("%s.%s: FIELD_F_OPT and the member disagree", s->name, f->json);
    }
    if (f->view_size != s->size) {
        fail_msg("%s.%s: the member is of another view than the schema's", s->name, f->json);
    }
}

static void members_are_what_the_codec_writes(void **state) {
    (void)state;
    static struct seen seen;
    visit_all(&seen);
    assert_true(seen.n > 300);
    for (size_t i = 0; i < seen.n; i++) {
        for (size_t k = 0; k < seen.v[i]->n; k++) {
            check_row(seen.v[i], &seen.v[i]->fields[k]);
        }
    }
}

/* kind_api_version has a list of its own for rows that do not say theirs: a group that it lacks would be core's. */
static void every_kind_knows_its_api_version(void **state) {
    size_t n;
    const struct kind *const *kinds = kinds_builtin(&n);
    for (size_t i = 0; i < n; i++) {
        char want[256];
        snprintf(want, sizeof(want), "%s%s%s", kinds[i]->group, kinds[i]->group[0] ? "/" : "",
                 kind_storage(kinds[i])->version);
        assert_string_equal(kind_api_version(kinds[i]), want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(members_are_what_the_codec_writes),
                                       cmocka_unit_test(every_kind_knows_its_api_version)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

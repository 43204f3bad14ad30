/*
 * fuzz/apply: lines: the structural schema of a custom kind, an object, its managedFields, what is applied to it.
 *
 * Field managers are read and written in one form. What was applied with force is applied again without: nothing is
 * new, and nothing is in conflict. All ends within the steps that a request has.
 */
#include "api/managed/manage.h"
#include "api/schema/crd_check.h"
#include "api/schema/crd_schema.h"
#include "base/limits.h"
#include "fuzz.h"

enum { LINES = 4 };

struct fuzz_case {
    struct arena a;
    struct schema schema;
    yyjson_val *live, *list, *config;
    yyjson_mut_val *stored;
};

static int form_of(void *ctx, struct str api_version, struct form *ret) {
    struct fuzz_case *c = ctx;
    *ret = form_root(&c->schema);
    return str_is(api_version, "gone") ? ERR_NOT_FOUND : 0;
}

static yyjson_mut_val *copy(struct fuzz_case *c, yyjson_val *v) {
    yyjson_mut_doc *d = json_mut_copy(&c->a, v);
    assert(d != NULL);
    json_dedup(yyjson_mut_doc_get_root(d)); /* as bodies are */
    return yyjson_mut_doc_get_root(d);
}

static int convert(void *ctx, yyjson_mut_val *tree, struct str from, struct str to,
                   yyjson_mut_val **ret, struct err *err) {
    struct fuzz_case *c = ctx;
    *ret = yyjson_mut_val_mut_copy(json_mut_new(&c->a), tree);
    return str_is(to, "gone") ? ERR_NOT_FOUND : *ret == NULL ? ERR_NOMEM : 0;
}

static int stored(void *ctx, yyjson_mut_val **ret, struct err *err) {
    struct fuzz_case *c = ctx;
    *ret = yyjson_mut_val_mut_copy(json_mut_new(&c->a), c->stored);
    return *ret == NULL ? ERR_NOMEM : 0;
}

static struct manage rules(struct fuzz_case *c, const char *who, bool apply) {
    return (struct manage){.arena = &c->a,
                           .who = {.name = str_of(who), .api_version = STR("g/v1"), .apply = apply},
                           .without = "status",
                           .form = form_root(&c->schema),
                           .form_of = form_of,
                           .convert = convert,
                           .stored = stored,
                           .ctx = c};
}

/* What is written reads back as the same text. */
static void check_form(struct fuzz_case *c, struct managers *all) {
    yyjson_mut_doc *d = json_mut_new(&c->a);
    struct managers again;
    yyjson_mut_val *first = managers_tree(d, all);
    assert(first != NULL && managers_read(&c->a, first, &again, NULL) == 0);
    yyjson_mut_val *second = managers_tree(d, &again);
    assert(second != NULL && json_mequal(first, second));
}

static int apply(struct fuzz_case *c, const char *who, bool force, struct managers *all,
                 struct applied *ret) {
    struct manage m = rules(c, who, true);
    struct err err;
    struct fields set;
    yyjson_mut_val *config = copy(c, c->config);
    int r = typed_config(&c->a, &m.form, config, &set, &err);
    return r ? r : manage_apply(&m, json_mut_new(&c->a), config, &set, force, all, ret, &err);
}

static void try_it(struct fuzz_case *c, bool update) {
    struct managers all = {0};
    struct applied made, again;
    bool same;
    c->stored = copy(c, c->live);
    (void)managers_read(&c->a, copy(c, c->list), &all, NULL);
    if (update) {
        struct manage m = rules(c, "someone", false);
        (void)manage_update(&m, c->stored, copy(c, c->config), &all, &same, NULL);
        return;
    }
    if (apply(c, "kubectl", true, &all, &made) != 0) {
        return;
    }
    check_form(c, &all);
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, made.object);
    buf_release(&b);
    c->stored = yyjson_mut_val_mut_copy(json_mut_new(&c->a), made.object);
    assert(apply(c, "kubectl", false, &all, &again) == 0 || arena_spent(&c->a));
    assert(arena_spent(&c->a) || json_mequal(again.object, c->stored));
}

static bool read_line(struct fuzz_case *c, struct str line, yyjson_val **ret) {
    yyjson_doc *d;
    if (json_parse(&c->a, line, &d, NULL) != 0) {
        return false;
    }
    *ret = yyjson_doc_get_root(d);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct fuzz_case c;
    struct str rest = fuzz_text(data, size), line;
    yyjson_val *v[LINES];
    struct crd_schema *custom = NULL;
    size_t n = 0;
    arena_init(&c.a, 4 * FUZZ_ARENA_BYTES);
    while (size <= FUZZ_INPUT_MAX && n < LINES && str_next(&rest, '\n', &line) &&
           read_line(&c, line, &v[n])) {
        n++;
    }
    struct causes bad = {.arena = &c.a};
    if (n == LINES && yyjson_is_obj(v[0])) {
        crd_structural(v[0], NULL, NULL, &bad);
    }
    if (n == LINES && bad.n == 0 && yyjson_is_obj(v[0]) && yyjson_is_obj(v[1]) &&
        yyjson_is_obj(v[3]) && crd_schema_new(v[0], &custom, NULL) == 0) {
        c.schema = (struct schema){.name = "K", .custom = custom};
        c.live = v[1];
        c.list = v[2];
        c.config = v[3];
        arena_allow(&c.a, c.a.steps + LIMIT_REQUEST_STEPS);
        try_it(&c, false);
        try_it(&c, true);
    }
    crd_schema_free(custom);
    arena_release(&c.a);
    return 0;
}

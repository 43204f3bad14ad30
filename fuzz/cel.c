/* Rules: the expression up to the first newline, the rest is the object; compiled for names of all types as well. */
#include "api/cel/cel_sort.h"
#include "fuzz.h"
#include "wire/json/json.h"

/* With types: of the object as a schema of its own, of nothing known, and of what policies have. */
static void compile(struct arena *a, struct str text, yyjson_val *schema) {
    const struct cel_expr *e;
    const struct cel_sort *sort = cel_sort_of_json(a, schema, STR("object"), true);
    struct str faults = {0};
    struct cel_decl names[] = {{STR("self"), sort != NULL ? sort : &cel_dyn},
                               {STR("oldSelf"), cel_sort_optional(a, &cel_dyn)},
                               {STR("request"), cel_sort_of_request(a)},
                               {STR("authorizer"), cel_sort_of('Z')}};
    struct cel_decl variables[] = {{STR("x"), &cel_int_sort}};
    struct cel_scope scope = {
        .v = names, .n = 4, .variables = variables, .n_variables = 1, .makes = true};
    int r = cel_compile(a, text, &scope, &e, &sort, &faults);
    assert(r != ERR_SYNTAX || faults.n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text, object;
    struct arena a;
    const struct cel_expr *e;
    yyjson_doc *d;
    yyjson_mut_val *made;
    struct str why = {0};
    (void)str_cut(str_from((const char *)data, size), '\n', &text, &object);
    arena_init(&a, 64 << 20);
    if (json_parse(&a, object, &d, NULL) != 0) {
        arena_release(&a);
        return 0;
    }
    compile(&a, text, yyjson_doc_get_root(d));
    if (cel_parse(&a, text, &e, NULL) == 0) {
        struct cel_input in = {.self = yyjson_doc_get_root(d), .arena = &a, .limit = 20000};
        in.old = cel_uses(e, "oldSelf") ? in.self : NULL;
        in.optional_old = size % 2;
        enum cel_outcome out = cel_check(e, &in, &why);
        assert(out >= CEL_FALSE && out <= CEL_TOO_LONG);
        (void)cel_message(e, &in, &why);
        yyjson_mut_doc *m = json_mut_new(&a);
        (void)(m != NULL ? cel_json(e, &in, m, &made, &why) : CEL_ERROR);
    }
    arena_release(&a);
    return 0;
}

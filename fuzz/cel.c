/* Rules: the expression up to the first newline, the rest is the object. */
#include "api/cel/cel.h"
#include "fuzz.h"
#include "wire/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str text, object;
    struct arena a;
    const struct cel_expr *e;
    yyjson_doc *d;
    struct str why = {0};
    (void)str_cut(str_from((const char *)data, size), '\n', &text, &object);
    arena_init(&a, 64 << 20);
    if (cel_parse(&a, text, &e, NULL) == 0 && json_parse(&a, object, &d, NULL) == 0) {
        struct cel_input in = {.self = yyjson_doc_get_root(d), .arena = &a, .limit = 20000};
        in.old = cel_uses(e, "oldSelf") ? in.self : NULL;
        in.optional_old = size % 2;
        enum cel_outcome out = cel_check(e, &in, &why);
        assert(out >= CEL_FALSE && out <= CEL_TOO_LONG);
        (void)cel_message(e, &in, &why);
    }
    arena_release(&a);
    return 0;
}

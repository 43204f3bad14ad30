/* Structural schemas: the schema up to the first newline, the rest is an object. */
#include "api/openapi/openapi_private.h"
#include "api/schema/crd_check.h"
#include "api/schema/crd_schema.h"
#include "fuzz.h"
#include "wire/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str schema, object;
    struct arena a;
    struct crd_schema *s;
    yyjson_doc *d, *was;
    yyjson_mut_doc *m;
    (void)str_cut(str_from((const char *)data, size), '\n', &schema, &object);
    arena_init(&a, 64 << 20);
    struct causes bad = {.arena = &a}, causes = {.arena = &a};
    if (json_parse(&a, schema, &d, NULL) == 0) {
        crd_structural(yyjson_doc_get_root(d), NULL, NULL, &bad);
        if (yyjson_is_obj(yyjson_doc_get_root(d)) &&
            crd_schema_new(yyjson_doc_get_root(d), &s, NULL) == 0) {
            if (json_parse_mut(&a, object, &m, NULL) == 0 &&
                json_parse(&a, object, &was, NULL) == 0) {
                yyjson_mut_val *root = yyjson_mut_doc_get_root(m);
                struct crd_pruner p = {.unknown = NULL};
                struct buf b;
                buf_init(&p.text, 0);
                buf_init(&b, 0);
                crd_prune(&p, s->root, root, NULL, true);
                crd_drop_nulls(s->root, root);
                (void)crd_default(s->root, m, root);
                crd_validate(s, root, size % 2 ? yyjson_doc_get_root(was) : NULL, &causes);
                struct place at = place_of_written(yyjson_doc_get_root(s->doc), true);
                openapi_schema(&b, size % 2, &at, (struct str){0});
                buf_ch(&b, '}');
                struct str named = arena_f(&a, "\"a\":%.*s", STR_ARG(buf_view(&b)));
                named = str_head(named, named.n > 0 ? named.n - 1 : 0);
                buf_reset(&b);
                (void)gnostic_part(GNOSTIC_DEFINITIONS, named, &b);
                buf_release(&p.text);
                buf_release(&b);
            }
            crd_schema_free(s);
        }
    }
    arena_release(&a);
    return 0;
}

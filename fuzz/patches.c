/*
 * fuzz/patches: a document, a line feed, a patch; applied as merge patch, JSON patch and strategic merge patch.
 *
 * Whatever comes out can be written, and read again within the limits.
 */
#include "fuzz.h"
#include "wire/json/patch.h"
#include "wire/json/strategic.h"

/* A schema in which every list merges, by "name" in objects called "o", else as scalars. */
static const char keyed, scalars;

static void field(const void *node, struct str name, struct strategic_field *ret) {
    bool is_keyed = name.n > 0 && name.p[0] == 'o';
    ret->merge = true;
    ret->merge_key = is_keyed ? "name" : NULL;
    ret->node = is_keyed ? &keyed : &scalars;
}

static void check_result(struct arena *a, yyjson_mut_doc *d) {
    struct buf b;
    yyjson_doc *doc;
    buf_init(&b, 0);
    json_write_mut(&b, d->root);
    assert(buf_ok(&b) == 0);
    assert(json_parse(a, buf_view(&b), &doc, NULL) == 0);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct strategic_schema schema = {field};
    struct arena a;
    struct str text, patch_text;
    yyjson_doc *doc, *patch;
    arena_init(&a, 4 * FUZZ_ARENA_BYTES);
    str_cut(fuzz_text(data, size), '\n', &text, &patch_text);
    if (size <= FUZZ_INPUT_MAX && json_parse(&a, text, &doc, NULL) == 0 &&
        json_parse(&a, patch_text, &patch, NULL) == 0) {
        yyjson_val *from = yyjson_doc_get_root(doc), *p = yyjson_doc_get_root(patch);
        yyjson_mut_doc *merged = json_mut_copy(&a, from), *changed = json_mut_copy(&a, from);
        yyjson_mut_doc *strategic = json_mut_copy(&a, from);
        assert(patch_merge(merged, p, NULL) == 0);
        check_result(&a, merged);
        if (patch_json(changed, p, NULL) == 0) {
            check_result(&a, changed);
        }
        if (patch_strategic(strategic, p, &schema, &scalars, NULL) == 0) {
            check_result(&a, strategic);
        }
    }
    arena_release(&a);
    return 0;
}

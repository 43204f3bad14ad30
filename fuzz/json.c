/* fuzz/json: any bytes as JSON. What is read is written and read again equal; so is the mutable form without its
 * duplicates. */
#include "wire/json/json.h"
#include "fuzz.h"
#include "wire/json/json_peek.h"

static void found(void *ctx, struct str path) {
    ++*(size_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct buf b;
    yyjson_doc *doc, *again;
    arena_init(&a, FUZZ_ARENA_BYTES);
    buf_init(&b, 0);
    struct str name = json_peek(fuzz_text(data, size), STR("metadata"), STR("name"));
    assert(name.n == 0 || (name.p > (const char *)data && name.n < size));
    if (size <= FUZZ_INPUT_MAX && json_parse(&a, fuzz_text(data, size), &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        size_t duplicates = 0;
        json_write(&b, root);
        assert(buf_ok(&b) == 0);
        assert(json_parse(&a, buf_view(&b), &again, NULL) == 0);
        assert(json_equal(root, yyjson_doc_get_root(again)));
        assert(json_duplicates(root, &a, found, &duplicates) == 0);
        yyjson_mut_doc *m = json_mut_copy(&a, root);
        json_dedup(m->root);
        buf_reset(&b);
        json_write_mut(&b, m->root);
        assert(json_parse(&a, buf_view(&b), &again, NULL) == 0);
        size_t left = 0;
        assert(json_duplicates(yyjson_doc_get_root(again), &a, found, &left) == 0 && left == 0);
        assert(duplicates > 0 || json_equal(root, yyjson_doc_get_root(again)));
    }
    buf_release(&b);
    arena_release(&a);
    return 0;
}

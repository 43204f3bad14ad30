/* fuzz/yaml: any bytes as a YAML stream. Each document is written as YAML and read again equal. */
#include "wire/yaml.h"
#include "fuzz.h"

static void check(struct arena *a, yyjson_mut_doc *d) {
    struct buf json, text;
    yyjson_doc *doc;
    struct yaml_docs again;
    struct err err = {0};
    buf_init(&json, 0);
    buf_init(&text, 0);
    json_write_mut(&json, d->root);
    assert(buf_ok(&json) == 0);
    assert(json_parse(a, buf_view(&json), &doc, NULL) == 0);
    yaml_write(&text, yyjson_doc_get_root(doc));
    assert(buf_ok(&text) == 0);
    int r = yaml_parse(a, buf_view(&text), &again, &err);
    assert(r == 0 && again.n == 1);
    assert(json_mequal(d->root, again.v[0]->root));
    buf_release(&json);
    buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct yaml_docs docs;
    arena_init(&a, 4 * FUZZ_ARENA_BYTES);
    if (size <= FUZZ_INPUT_MAX && yaml_parse(&a, fuzz_text(data, size), &docs, NULL) == 0) {
        for (size_t i = 0; i < docs.n && i < 8; i++) {
            check(&a, docs.v[i]);
        }
    }
    arena_release(&a);
    return 0;
}

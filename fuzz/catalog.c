/* fuzz/catalog: any text as a catalog, as sources, as a record, and as a filter of a model. */
#include "core/model/catalog.h"
#include "core/model/catalog_filter.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct catalog c;
    struct catalog_sources s;
    struct catalog_record r;
    struct catalog_filter f;
    struct catalog_model m = {.name = STR("granite-8b"), .license = STR("apache-2.0")};

    arena_init(&a, FUZZ_ARENA_BYTES);
    if (catalog_filter_compile(&a, fuzz_text(data, size), &f, NULL) == 0) {
        catalog_filter_passes(&f, &m);
    }
    arena_reset(&a);
    if (catalog_read(&a, fuzz_text(data, size), &c, NULL) == 0) {
        for (size_t i = 0; i < c.n; i++) {
            assert(c.models[i].name.n > 0 && catalog_memory(&c.models[i]) >= 0);
        }
    }
    arena_reset(&a);
    if (catalog_sources_read(&a, fuzz_text(data, size), &s, NULL) == 0) {
        for (size_t i = 0; i < s.n; i++) {
            catalog_shows(&s.v[i], m.name);
        }
    }
    arena_reset(&a);
    if (catalog_record_read(&a, fuzz_text(data, size), &r, NULL) == 0) {
        assert(r.hardware_count > 0 && catalog_record_replicas(&r, 50) >= 0);
    }
    arena_release(&a);
    return 0;
}

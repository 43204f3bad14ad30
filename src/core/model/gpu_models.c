/* gpu_models: see gpu_models.h. */
#include "core/model/gpu_models.h"

#define MIB (INT64_C(1) << 20)
#define GB INT64_C(1000000000)

static const struct gpu_model models[] = {
    {"H200",
     NULL,
     143771,
     4800,
     8,
     {{"1g.18gb", 16384, 1},
      {"1g.35gb", 33024, 2},
      {"2g.35gb", 33024, 2},
      {"3g.71gb", 71168, 4},
      {"4g.71gb", 71168, 4},
      {"7g.141gb", 143360, 8}}},
    {"B200",
     NULL,
     183359,
     8000,
     8,
     {{"1g.23gb", 22528, 1}, {"1g.45gb", 45312, 2}, {"2g.45gb", 45312, 2}}},
    {"H100 NVL",
     NULL,
     95830,
     3938,
     8,
     {{"1g.12gb", 11008, 1}, {"1g.24gb", 22144, 2}, {"2g.24gb", 22144, 2}}},
    {"H100",
     NULL,
     81559,
     3350,
     8,
     {{"1g.10gb", 9984, 1},
      {"1g.20gb", 20096, 2},
      {"2g.20gb", 20096, 2},
      {"3g.40gb", 40448, 4},
      {"4g.40gb", 40448, 4},
      {"7g.80gb", 81152, 8}}},
    {"A100 80GB",
     "A100-SXM4-80GB|A100 80GB|A800",
     81920,
     2039,
     8,
     {{"1g.10gb", 9728, 1},
      {"1g.20gb", 19968, 2},
      {"2g.20gb", 19968, 2},
      {"3g.40gb", 40192, 4},
      {"4g.40gb", 40192, 4},
      {"7g.80gb", 80896, 8}}},
    {"A100 40GB",
     "A100",
     40960,
     1555,
     8,
     {{"1g.5gb", 4864, 1},
      {"1g.10gb", 9856, 2},
      {"2g.10gb", 9856, 2},
      {"3g.20gb", 19968, 4},
      {"4g.20gb", 19968, 4},
      {"7g.40gb", 40192, 8}}},
    {"A30",
     NULL,
     24576,
     933,
     4,
     {{"1g.6gb", 5952, 1}, {"2g.12gb", 11968, 2}, {"4g.24gb", 24000, 4}}},
    {"RTX PRO 6000",
     NULL,
     97887,
     1597,
     12,
     {{"1g.24gb", 24192, 3}, {"2g.48gb", 48512, 6}, {"4g.96gb", 97280, 12}}},
    {"L40S", NULL, 46068, 864, 0, {{0}}},
    {"L40", NULL, 46068, 864, 0, {{0}}},
    {"L4", NULL, 23034, 300, 0, {{0}}},
    {"A40", NULL, 46068, 696, 0, {{0}}},
    {"A10", NULL, 23028, 600, 0, {{0}}},
    {"T4", NULL, 15360, 320, 0, {{0}}},
    {"RTX 4090", NULL, 24564, 1008, 0, {{0}}},
    {"RTX 3090", NULL, 24576, 936, 0, {{0}}},
};
enum { MODELS = sizeof(models) / sizeof(*models) };

const struct gpu_model *gpu_models_at(size_t i) {
    return i < MODELS ? &models[i] : NULL;
}

static bool letter(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* `part` stands in `name` as a word: no letter or digit follows or goes before it ("A10" is not in "A100"). */
static bool has_word(struct str name, struct str part) {
    for (size_t i = 0; i + part.n <= name.n; i++) {
        struct str here = str_from(name.p + i, part.n);
        bool before = i > 0 && letter(name.p[i - 1]);
        bool after = i + part.n < name.n && letter(name.p[i + part.n]);
        if (!before && !after && str_eq_nocase(here, part)) {
            return true;
        }
    }
    return false;
}

static bool is_of(const struct gpu_model *m, struct str name) {
    struct str rest = str_of(m->match), one;

    if (has_word(name, str_of(m->name))) {
        return true;
    }
    while (m->match != NULL && str_next(&rest, '|', &one)) {
        if (has_word(name, one)) {
            return true;
        }
    }
    return false;
}

const struct gpu_model *gpu_models_find(struct str name, int32_t memory_mib) {
    for (size_t i = 0; i < MODELS; i++) {
        const struct gpu_model *m = &models[i];
        int64_t off = (int64_t)memory_mib - m->memory_mib;
        bool near = memory_mib <= 0 || (off * 10 < m->memory_mib && -off * 10 < m->memory_mib);
        if (near && is_of(m, name)) {
            return m;
        }
    }
    return NULL;
}

struct fit_device gpu_models_card(const struct gpu_model *m) {
    return (struct fit_device){.memory = m->memory_mib * MIB, .bandwidth = m->bandwidth * GB};
}

struct fit_device gpu_models_part(const struct gpu_model *m, const struct gpu_model_slice *s) {
    return (struct fit_device){.memory = s->memory_mib * MIB,
                               .bandwidth = m->bandwidth * GB * s->size / m->slices,
                               .slice = true};
}

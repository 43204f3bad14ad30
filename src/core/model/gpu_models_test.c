/* gpu_models_test: names as drivers write them. */
#include "core/model/gpu_models.h"

#include "base/test.h"

static void names(void **state) {
    static const struct {
        const char *name, *want;
        int32_t memory;
    } cases[] = {
        {"NVIDIA H200", "H200", 143771},
        {"h200", "H200", 0},
        {"NVIDIA H200", "H200", 144384},
        {"NVIDIA H100 80GB HBM3", "H100", 81559},
        {"NVIDIA H100 NVL", "H100 NVL", 95830},
        {"NVIDIA A100-SXM4-80GB", "A100 80GB", 81920},
        {"NVIDIA A100 80GB PCIe", "A100 80GB", 81920},
        {"NVIDIA A100-SXM4-40GB", "A100 40GB", 40960},
        {"NVIDIA A10", "A10", 23028},
        {"NVIDIA L40S", "L40S", 46068},
        {"NVIDIA L4", "L4", 23034},
        {"Tesla T4", "T4", 15360},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000", 97887},
        {"NVIDIA H200", NULL, 20000},
        {"NVIDIA XH200", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct gpu_model *m = gpu_models_find(str_of(cases[i].name), cases[i].memory);
        const char *got = m != NULL ? m->name : NULL;
        if ((got == NULL) != (cases[i].want == NULL) ||
            (got != NULL && strcmp(got, cases[i].want) != 0)) {
            print_error("%s: %s\n", cases[i].name, got ? got : "(none)");
            fail();
        }
    }
}

/* No slice has more than its card, and its share is of the card's slices. */
static void sane(void **state) {
    const struct gpu_model *m;
    for (size_t i = 0; (m = gpu_models_at(i)) != NULL; i++) {
        assert_true(m->memory_mib > 0 && m->bandwidth > 0);
        for (size_t k = 0; k < GPU_MODEL_SLICES_MAX && m->parts[k].name != NULL; k++) {
            struct fit_device d = gpu_models_part(m, &m->parts[k]);
            assert_true(m->parts[k].size <= m->slices && m->parts[k].memory_mib <= m->memory_mib);
            assert_true(d.slice && d.bandwidth <= gpu_models_card(m).bandwidth);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(sane)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

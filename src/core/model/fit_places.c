/* fit_places: see fit_places.h. */
#include "core/model/fit_places.h"

#define MIB (INT64_C(1) << 20)

static void add(struct fit_places *p, struct str gpu, struct str slice, struct fit_device d) {
    for (size_t i = 0; i < p->n; i++) {
        struct fit_place *x = &p->v[i];
        if (str_eq(x->gpu, gpu) && str_eq(x->slice, slice) && x->device.memory == d.memory) {
            x->device.together = d.together > x->device.together ? d.together : x->device.together;
            return;
        }
    }
    if (p->n < FIT_PLACES_MAX) {
        p->v[p->n++] = (struct fit_place){gpu, slice, d};
    }
}

void fit_places_model(struct fit_places *p, struct str gpu, const struct gpu_model *m) {
    add(p, gpu, (struct str){0}, gpu_models_card(m));
    for (size_t i = 0; i < GPU_MODEL_SLICES_MAX && m->parts[i].name != NULL; i++) {
        add(p, gpu, str_of(m->parts[i].name), gpu_models_part(m, &m->parts[i]));
    }
}

static int64_t alike(const struct inventory *inv, const struct gpu_card *g) {
    int64_t n = 0;
    for (size_t i = 0; i < inv->n; i++) {
        n += str_eq(inv->gpus[i].model, g->model);
    }
    return n;
}

void fit_places_card(struct fit_places *p, const struct inventory *inv, const struct gpu_card *g) {
    const struct gpu_model *m = gpu_models_find(g->model, g->memory_mib);
    int64_t rate = m != NULL ? gpu_models_card(m).bandwidth : 0;
    struct fit_device whole = {
        .memory = g->memory_mib * MIB, .bandwidth = rate, .together = alike(inv, g)};

    if (!g->mig_enabled || g->mig_managed) {
        add(p, g->model, (struct str){0}, whole);
    }
    for (size_t i = 0; i < g->n_profiles && (g->mig_enabled || g->mig_managed) && g->slices > 0;
         i++) {
        const struct gpu_profile *x = &g->profiles[i];
        if (!x->media) {
            add(p, g->model, x->name,
                (struct fit_device){.memory = x->memory_mib * MIB,
                                    .bandwidth = rate / g->slices * x->size,
                                    .slice = true});
        }
    }
}

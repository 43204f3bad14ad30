/*
 * fit_places (core): the kinds of GPUs and slices on which a model may be placed, each once: of a node's inventory, or
 * of the catalogue of GPU models.
 *
 *     struct fit_places p = {0};
 *     fit_places_card(&p, &inv, &inv.gpus[i]);     for each card of each node
 *
 * Cards of one model with the same memory are one place, whatever node they are on; `device.together` is that of the
 * node with most of them. Names are views into what they were read from.
 */
#ifndef BERTH_CORE_MODEL_FIT_PLACES_H
#define BERTH_CORE_MODEL_FIT_PLACES_H

#include "api/inventory.h"
#include "core/model/gpu_models.h"

enum { FIT_PLACES_MAX = 512 }; /* more kinds are left out */

struct fit_place {
    struct str gpu, slice; /* slice empty: the whole GPU */
    struct fit_device device;
};

struct fit_places {
    struct fit_place v[FIT_PLACES_MAX];
    size_t n;
};

/* The whole card where it is not cut or may be made whole, and the slices that it can be cut into. */
void fit_places_card(struct fit_places *p, const struct inventory *inv, const struct gpu_card *g);
/* A model of the catalogue, called `gpu`, with its slices. */
void fit_places_model(struct fit_places *p, struct str gpu, const struct gpu_model *m);

#endif

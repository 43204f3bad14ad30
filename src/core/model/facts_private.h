/* facts_private: a config.json while it is read: numbers under the names that different makers gave them. The first
 * fault sticks; what is read after it is 0. */
#ifndef BERTH_CORE_MODEL_FACTS_PRIVATE_H
#define BERTH_CORE_MODEL_FACTS_PRIVATE_H

#include "core/model/facts.h"
#include "wire/json/json.h"

enum { SIZE_LARGEST = 100000000, HEADS_LARGEST = 65536 };

struct facts_in {
    yyjson_val *obj; /* the text model's object */
    struct facts *f;
    struct err *err;
    int code;
};

/* The first of the names "a|b|c" that is there and not null: a whole number of 0 to `most`; `otherwise`: there is
 * none. A name with dots is a path. */
int64_t facts_config_number(struct facts_in *c, const char *names, int64_t most, int64_t otherwise);
bool facts_config_flag(struct facts_in *c, const char *name, bool otherwise);
/* model_type is one of "a|b|c". */
bool facts_config_is(const struct facts_in *c, const char *types);
int facts_config_fault(struct facts_in *c, int code, const char *field, const char *what);

/* Layers, one by one, into c->f (facts_layers.c). */
void facts_config_layers(struct facts_in *c);
/* parameters, parameters_used, weights (facts_size.c). */
void facts_config_size(struct facts_in *c);
/* quant, weight_millibits, from "quantization_config" (facts_quant.c). */
void facts_config_quant(struct facts_in *c, yyjson_val *quant);

#endif

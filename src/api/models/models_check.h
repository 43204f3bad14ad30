/*
 * models_check: what the tables of served models cannot say. What Berth does not run (transformers, explainers, several
 * nodes for a replica) is refused instead of being left out. Internal to this room.
 */
#ifndef BERTH_API_MODELS_CHECK_H
#define BERTH_API_MODELS_CHECK_H

#include "api/schema/check.h"

void inference_service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void serving_runtime_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void llm_service_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void inference_pool_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);

#endif

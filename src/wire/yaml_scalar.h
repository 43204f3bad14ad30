/*
 * yaml_scalar: what a YAML scalar means, by the rules that Kubernetes' tools use (see yaml.h). Internal to wire's YAML.
 */
#ifndef BERTH_WIRE_YAML_SCALAR_H
#define BERTH_WIRE_YAML_SCALAR_H

#include "wire/json/json.h"

enum yaml_scalar_type {
    YAML_SCALAR_STRING,
    YAML_SCALAR_NULL,
    YAML_SCALAR_BOOL,
    YAML_SCALAR_INT, /* i, or u when not negative */
    YAML_SCALAR_FLOAT,
    YAML_SCALAR_MERGE, /* a plain << */
};

struct yaml_scalar {
    enum yaml_scalar_type type;
    struct str text;
    bool yes, negative;
    uint64_t u; /* magnitude in two's complement when negative */
    double f;
};

/* NULL, or what is wrong ("cannot decode ..."). tag: as libyaml gives it, empty when absent. */
const char *yaml_resolve(struct str text, bool plain, struct str tag, struct yaml_scalar *ret);
/* The scalar as a member name: a view of its text or of out. */
struct str yaml_key_text(const struct yaml_scalar *s, char out[static 32]);
/* As a value of d; NULL when out of memory. */
yyjson_mut_val *yaml_scalar_value(yyjson_mut_doc *d, const struct yaml_scalar *s);

#endif

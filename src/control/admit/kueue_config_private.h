/* kueue_config_private: declarations shared by the files of the Configuration's reader. */
#ifndef BERTH_CONTROL_KUEUE_CONFIG_PRIVATE_H
#define BERTH_CONTROL_KUEUE_CONFIG_PRIVATE_H

#include "control/admit/kueue_config.h"
#include "wire/json/json.h"

struct config_reader {
    struct kueue_config *c;
    struct err *err;
    bool old;     /* v1beta1 */
    bool refused; /* by config_shape: err says why */
    bool has_namespace;
    struct str namespace;
};

/* ERR_INVALID "path: what was expected". */
int config_fault(struct config_reader *r, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_warn(struct config_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The shape, by the table (api/kinds/kinds_kueue_config.c): known members, types, bounds, closed sets. */
int config_shape(struct config_reader *r, yyjson_val *root);
/* Warns of what Berth leaves idle. */
int config_idle(struct config_reader *r, yyjson_val *root);
/* Rules that a table cannot say, and those that look at more than one value. */
int config_rules(struct config_reader *r, yyjson_val *root);
/* featureGates, into settings.gates. */
int config_gates(struct config_reader *r, yyjson_val *root);
/* The rest, into settings. The document is valid. */
int config_fill(struct config_reader *r, yyjson_val *root);

/* Steps through lists and objects that may be absent or of another type. */
#define CONFIG_EACH(list_, i_, e_)                                                                 \
    yyjson_val *e_;                                                                                \
    yyjson_arr_iter e_##_it = yyjson_arr_iter_with(list_);                                         \
    for (size_t i_ = 0; (e_ = yyjson_arr_iter_next(&e_##_it)) != NULL; i_++)
#define CONFIG_MEMBERS(obj_, k_)                                                                   \
    yyjson_val *k_;                                                                                \
    yyjson_obj_iter k_##_it = yyjson_obj_iter_with(obj_);                                          \
    while ((k_ = yyjson_obj_iter_next(&k_##_it)) != NULL)

#endif

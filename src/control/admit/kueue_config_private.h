/* kueue_config_private: declarations shared by the files of the Configuration's reader. */
#ifndef BERTH_CONTROL_KUEUE_CONFIG_PRIVATE_H
#define BERTH_CONTROL_KUEUE_CONFIG_PRIVATE_H

#include "control/admit/kueue_config.h"
#include "wire/json/json.h"

enum config_type {
    CONFIG_BOOL,
    CONFIG_INT,    /* within min..max */
    CONFIG_NUMBER, /* not below min */
    CONFIG_TEXT,
    CONFIG_DURATION, /* "5m" */
    CONFIG_QUANTITY, /* "1.5Gi" or a number */
    CONFIG_OBJECT,   /* members: of */
    CONFIG_LIST,     /* items: item, of */
    CONFIG_MAP,      /* values: item */
    CONFIG_SELECTOR, /* a label selector */
    CONFIG_ANY,
};

struct config_field {
    const char *name;
    enum config_type type;
    enum config_type item;
    const struct config_field *of;
    const char *idle;                    /* Berth does not act on it, because ... */
    const char *const *values;           /* CONFIG_TEXT, or a list's: one of these */
    const char *format;                  /* CONFIG_TEXT, or a list's: as format_fault has it */
    int64_t min, max;                    /* numbers; a list's or map's length; 0 0: no bounds */
    bool old;                            /* v1beta1 alone */
    bool needed, not_negative, positive; /* the latter two: durations */
};

/* Members of the document, to a name of NULL. */
extern const struct config_field kueue_config_fields[];

struct config_reader {
    struct kueue_config *c;
    struct err *err;
    bool old; /* v1beta1 */
    bool has_namespace;
    struct str namespace;
};

/* ERR_INVALID "path: what was expected". */
int config_fault(struct config_reader *r, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void config_warn(struct config_reader *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The shape: known members, types, bounds, closed sets; warns of what is idle. */
int config_walk(struct config_reader *r, yyjson_val *root);
/* Rules that look at more than one value. */
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

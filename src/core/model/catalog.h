/*
 * catalog (core): models that are recommended, as files of Kubeflow's model registry and Open Data Hub list them.
 *
 *     sources.yaml   catalogs: [{id, name, type, enabled, properties: {yamlCatalogPath}, labels, includedModels,
 *                    excludedModels}]            types other than yaml are kept, and are somebody else's to read
 *     a catalog      source, models: [{name, provider, description, readme, language, license, licenseLink, tasks,
 *                    libraryName, maturity, logo, createTimeSinceEpoch, lastUpdateTimeSinceEpoch, customProperties,
 *                    artifacts: [{uri, customProperties}]}]
 *     records        performance, one JSON object a line beside it: config_id, hardware_type, hardware_count,
 *                    requests_per_second, ttft_p90, itl_p90, e2e_p90, tps_mean, use_case, ...
 *
 * A custom property is {metadataType, string_value | int_value | double_value | bool_value}; one with an empty text
 * is a label. YAML and JSON are read alike. Members that are not known are left alone; a known one of the wrong type
 * is refused with its path. Everything lies in the arena. Limits: LIMIT_CATALOG_*.
 */
#ifndef BERTH_CORE_MODEL_CATALOG_H
#define BERTH_CORE_MODEL_CATALOG_H

#include "base/arena.h"
#include "base/err.h"

struct catalog_texts {
    struct str *v;
    size_t n;
};

enum catalog_kind {
    CATALOG_NONE,
    CATALOG_TEXT,
    CATALOG_WHOLE,
    CATALOG_REAL,
    CATALOG_BOOL,
    CATALOG_LIST
};

struct catalog_property {
    struct str name;
    enum catalog_kind kind;
    struct str text;
    int64_t whole; /* and bools */
    double real;
    struct catalog_texts list; /* of a field of the model */
};

struct catalog_properties {
    struct catalog_property *v;
    size_t n;
};

struct catalog_artifact {
    struct str uri;
    struct catalog_properties custom;
};

struct catalog_model {
    struct str name, provider, description, readme, license, license_link, library, maturity, logo;
    struct catalog_texts languages, tasks;
    int64_t created_ms, updated_ms; /* since 1970; 0: not said */
    struct catalog_properties custom;
    struct catalog_artifact *artifacts;
    size_t n_artifacts;
};

struct catalog {
    struct str source;
    struct catalog_model *models;
    size_t n;
};

struct catalog_source {
    struct str id, name, type, path;
    bool enabled;
    struct catalog_texts labels, included, excluded; /* patterns with '*' */
};

struct catalog_sources {
    struct catalog_source *v;
    size_t n;
};

/* ERR_SYNTAX; ERR_INVALID: the text has the path of the field; ERR_TOO_LARGE; ERR_NOMEM. */
int catalog_read(struct arena *a, struct str text, struct catalog *ret, struct err *err);
int catalog_sources_read(struct arena *a, struct str text, struct catalog_sources *ret,
                         struct err *err);
/* Whether a source shows a model: one of `included` (all, where there are none) and none of `excluded`. */
bool catalog_shows(const struct catalog_source *s, struct str model);

/* A field of a model or a custom property ("min_vram_gb", "size.string_value"); kind CATALOG_NONE: it has none. */
struct catalog_property catalog_property(const struct catalog_model *m, struct str name);
/* The memory that the model states as required, in bytes (min_vram_gb); 0: not stated. */
int64_t catalog_memory(const struct catalog_model *m);

/* ---- performance ---- */

struct catalog_record {
    struct str config, hardware, use_case;
    int64_t hardware_count;
    double requests, ttft_p90, itl_p90, e2e_p90, tps; /* a second; ms; below 0: not measured */
};

/* One line. ERR_SYNTAX, ERR_INVALID. */
int catalog_record_read(struct arena *a, struct str line, struct catalog_record *ret,
                        struct err *err);
/* How many replicas serve so many requests a second: ceil(target / requests); 0: not measured. */
int64_t catalog_record_replicas(const struct catalog_record *r, double target);
/* Whether another one is at least as good in both time to the first token and requests a second per GPU, and better
 * in one: then this one need not be shown. */
bool catalog_record_beaten(const struct catalog_record *v, size_t n, size_t i);

#endif

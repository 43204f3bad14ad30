/*
 * view_catalog: the C view of a CatalogModel (berth.dev/v1alpha1), a model of the catalog with the GPUs that it fits.
 */
#ifndef BERTH_API_VIEW_CATALOG_H
#define BERTH_API_VIEW_CATALOG_H

#include "api/tables/view_meta.h"

struct catalog_fit_view {  /* on one GPU model or slice */
    struct str gpu, slice; /* slice empty: the whole GPU */
    double memory_gib;
    struct str verdict, reason;
    int64_t tokens, at_once, longest; /* 0: not known */
    struct opt_double speed;          /* tokens a second of one sequence, an upper bound */
    struct str flag;                  /* what would make it start */
};
struct catalog_record_view { /* measured */
    struct str config, hardware, use_case;
    int64_t hardware_count;
    struct opt_double requests, ttft_p90, itl_p90, e2e_p90, tps;
    bool beaten;
};
struct catalog_model_spec_view {
    struct str source, name, provider, description, license, license_link, library, maturity, uri;
    struct {
        struct str *v;
        size_t n;
    } tasks, languages;
    struct opt_double memory_gib; /* what the catalog states as required */
    int64_t context;              /* the longest; 0: not known */
    int64_t parameters;
    int64_t created_ns, updated_ns;
};
struct catalog_model_view {
    struct meta *metadata;
    struct catalog_model_spec_view *spec;
    struct {
        struct catalog_fit_view *v;
        size_t n;
    } fits;
    struct {
        struct catalog_record_view *v;
        size_t n;
    } records;
};

extern const struct schema schema_catalog_model;

#endif

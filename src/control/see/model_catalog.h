/*
 * model_catalog: the models that are recommended here and the GPUs of the fleet that each fits: the computed kind
 * CatalogModel (berth.dev/v1alpha1), which `kubectl get catalogmodels` and the dashboard read.
 *
 * The catalog is the ConfigMap `model-catalog-sources` of namespace berth-system, in the form of Kubeflow's model
 * registry and Open Data Hub (core/model/catalog.h):
 *
 *     sources.yaml          the sources; the yamlCatalogPath of each names another key
 *     <yamlCatalogPath>     the models of a source
 *     <model>.ndjson        performance records of a model, '/' in its name written as '_'
 *
 * A model's custom property `config_json` (string_value: its config.json) gives the exact answer of core/model/fit.h.
 * Without it, `min_vram_gb` is compared with the memory; without either the verdict is "unknown".
 *
 * Query parameters: `filterQuery` (core/model/catalog_filter.h), `contextLength` and `sequences` of the question to
 * fit. All is read and computed in the offload thread from copies. A catalog that is wrong answers 503 with the key
 * and the field; nothing of it is shown then.
 *
 * Limits: LIMIT_CATALOG_SHOWN models; a ConfigMap holds 1 MiB.
 */
#ifndef BERTH_CONTROL_MODEL_CATALOG_H
#define BERTH_CONTROL_MODEL_CATALOG_H

struct model_catalog;
struct fleet;

/* Beside the fleet, whose nodes it reads and which outlives it. NULL: out of memory. */
struct model_catalog *model_catalog_new(struct fleet *f);
void model_catalog_free(struct model_catalog *m); /* NULL is a no-op */

#endif

/* table_catalog: the fields of CatalogModel (berth.dev). */
#include "api/models/view_catalog.h"
#include "api/tables/table.h"

static const struct field fit_fields[] = {
    M(catalog_fit_view, gpu, STRING, ONE, "gpu", 0, .doc = "Model of the GPU."),
    M(catalog_fit_view, slice, STRING, ONE, "slice", 0,
      .doc = "MIG profile; absent: the whole GPU."),
    M(catalog_fit_view, memory_gib, DOUBLE, ONE, "memoryGiB", 0, .doc = "Memory of it."),
    M(catalog_fit_view, verdict, STRING, ONE, "verdict", 0,
      .doc = "fits, tight, no, or unknown where the catalog says neither dimensions nor memory."),
    M(catalog_fit_view, reason, STRING, ONE, "reason", 0, .doc = "Why not, or why tight."),
    M(catalog_fit_view, tokens, INT64, ONE, "tokens", 0,
      .doc = "Tokens that the cache holds; absent: unknown."),
    M(catalog_fit_view, at_once, INT64, ONE, "atOnce", 0,
      .doc = "Sequences of the context at once."),
    M(catalog_fit_view, longest, INT64, ONE, "longest", 0,
      .doc = "Longest context of one sequence."),
    M(catalog_fit_view, speed, DOUBLE, ONE, "speed", 0, .flags = FIELD_F_OPT,
      .doc = "Upper bound of the tokens per second of one sequence."),
    M(catalog_fit_view, flag, STRING, ONE, "flag", 0,
      .doc = "Flag of vLLM with which the model would start."),
};
static const struct schema schema_fit =
    SCHEMA("dev.berth.v1alpha1.CatalogModelFit", fit_fields, sizeof(struct catalog_fit_view),
           "Whether the model fits a GPU or a slice.");

static const struct field record_fields[] = {
    M(catalog_record_view, config, STRING, ONE, "config", 0, .doc = "Name of the measurement."),
    M(catalog_record_view, hardware, STRING, ONE, "hardware", 0, .doc = "Type of the GPU."),
    M(catalog_record_view, hardware_count, INT64, ONE, "hardwareCount", 0,
      .doc = "Number of GPUs."),
    M(catalog_record_view, use_case, STRING, ONE, "useCase", 0, .doc = "What was measured."),
    M(catalog_record_view, requests, DOUBLE, ONE, "requestsPerSecond", 0, .flags = FIELD_F_OPT,
      .doc = "Requests per second; absent: not measured."),
    M(catalog_record_view, ttft_p90, DOUBLE, ONE, "ttftP90", 0, .flags = FIELD_F_OPT,
      .doc = "Time to the first token in milliseconds, 90th percentile."),
    M(catalog_record_view, itl_p90, DOUBLE, ONE, "itlP90", 0, .flags = FIELD_F_OPT,
      .doc = "Time between tokens in milliseconds, 90th percentile."),
    M(catalog_record_view, e2e_p90, DOUBLE, ONE, "e2eP90", 0, .flags = FIELD_F_OPT,
      .doc = "Time of a whole request in milliseconds, 90th percentile."),
    M(catalog_record_view, tps, DOUBLE, ONE, "tokensPerSecond", 0, .flags = FIELD_F_OPT,
      .doc = "Mean tokens per second."),
    M(catalog_record_view, beaten, BOOL, ONE, "beaten", 0,
      .doc =
          "Whether another measurement is better in time to the first token and requests per GPU."),
};
static const struct schema schema_record =
    SCHEMA("dev.berth.v1alpha1.CatalogModelRecord", record_fields,
           sizeof(struct catalog_record_view), "Measured performance of the model.");

static const struct field spec_fields[] = {
    M(catalog_model_spec_view, source, STRING, ONE, "source", 0, .doc = "Source of the catalog."),
    M(catalog_model_spec_view, name, STRING, ONE, "name", 0, .doc = "Name of the model."),
    M(catalog_model_spec_view, provider, STRING, ONE, "provider", 0, .doc = "Its provider."),
    M(catalog_model_spec_view, description, STRING, ONE, "description", 0,
      .doc = "What the model is."),
    M(catalog_model_spec_view, license, STRING, ONE, "license", 0, .doc = "License."),
    M(catalog_model_spec_view, license_link, STRING, ONE, "licenseLink", 0,
      .doc = "Address of the license."),
    M(catalog_model_spec_view, library, STRING, ONE, "libraryName", 0, .doc = "Library."),
    M(catalog_model_spec_view, maturity, STRING, ONE, "maturity", 0, .doc = "Maturity."),
    M(catalog_model_spec_view, uri, STRING, ONE, "uri", 0,
      .doc = "Where its weights are: the storageUri of an InferenceService."),
    M(catalog_model_spec_view, tasks, STRING, LIST, "tasks", 0, .doc = "Tasks."),
    M(catalog_model_spec_view, languages, STRING, LIST, "languages", 0, .doc = "Languages."),
    M(catalog_model_spec_view, memory_gib, DOUBLE, ONE, "memoryGiB", 0, .flags = FIELD_F_OPT,
      .doc = "Memory that the catalog states as required; absent: not stated."),
    M(catalog_model_spec_view, context, INT64, ONE, "context", 0,
      .doc = "Longest context in tokens; absent: unknown."),
    M(catalog_model_spec_view, parameters, INT64, ONE, "parameters", 0,
      .doc = "Number of parameters; absent: unknown."),
    M(catalog_model_spec_view, created_ns, TIME, ONE, "created", 0, .doc = "Time of creation."),
    M(catalog_model_spec_view, updated_ns, TIME, ONE, "updated", 0,
      .doc = "Time of the last change."),
};
static const struct schema schema_spec =
    SCHEMA("dev.berth.v1alpha1.CatalogModelSpec", spec_fields,
           sizeof(struct catalog_model_spec_view), "The model as the catalog describes it.");

static const struct field model_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(catalog_model_view, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name of the object."),
    M(catalog_model_view, spec, OBJECT, ONE, "spec", 0, .of = &schema_spec,
      .doc = "The model as the catalog describes it."),
    M(catalog_model_view, fits, OBJECT, LIST, "fits", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_fit, .doc = "Each kind of GPU and slice of the fleet."),
    M(catalog_model_view, records, OBJECT, LIST, "records", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_record, .doc = "Measured performance."),
};
const struct schema schema_catalog_model =
    SCHEMA("dev.berth.v1alpha1.CatalogModel", model_fields, sizeof(struct catalog_model_view),
           "A model of the catalog and the GPUs that it fits; computed on read.");

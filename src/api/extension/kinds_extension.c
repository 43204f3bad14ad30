/* kinds_extension: the row of CustomResourceDefinition; its rules are in crd_check.c and crd_structural.c. */
#include "api/kinds/kinds.h"
#include "api/schema/crd_check.h"

static const struct column crd_columns[] = {
    COLUMN_NAME,
    {.name = "Created At",
     .type = "date",
     .path = "metadata.creationTimestamp",
     .doc = "Time of creation."},
};
const struct kind kind_custom_resource_definition = {
    .group = "apiextensions.k8s.io",
    .kind = "CustomResourceDefinition",
    .plural = "customresourcedefinitions",
    .singular = "customresourcedefinition",
    .short_names = (const char *const[]){"crd", "crds", NULL},
    .categories = (const char *const[]){"api-extensions", NULL},
    .flags = KIND_STATUS | KIND_GENERATION | KIND_RV_REQUIRED | KIND_RETURNS_DELETED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_crd},
    .n_versions = 1,
    .columns = crd_columns,
    .n_columns = COUNT(crd_columns),
    .set_defaults = crd_set_defaults,
    .prepare = crd_prepare,
    .check = crd_check,
};

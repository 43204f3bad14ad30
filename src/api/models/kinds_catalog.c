/* kinds_catalog: the row of CatalogModel (berth.dev), computed by control/see/model_catalog.h. */
#include "api/kinds/kinds.h"
#include "api/models/view_catalog.h"
#include "api/tables/table.h"

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Model", "string", 0, "spec.name", "Name of the model."),
    COLUMN_PATH("License", "string", 0, "spec.license", "License."),
    COLUMN("Fits", "string", 0, "Smallest GPU or slice of the fleet that the model fits."),
    COLUMN_PATH("Provider", "string", 1, "spec.provider", "Provider."),
};
enum { COLUMN_FITS = 3 };

static int rank(yyjson_val *fit) {
    struct str v = json_str_at(fit, "verdict");
    return str_is(v, "fits") ? 0 : str_is(v, "tight") ? 1 : str_is(v, "unknown") ? 2 : 3;
}

static bool before(yyjson_val *a, yyjson_val *b) {
    double x = yyjson_get_num(json_get(a, STR("memoryGiB")));
    return rank(a) != rank(b) ? rank(a) < rank(b)
                              : x < yyjson_get_num(json_get(b, STR("memoryGiB")));
}

/* Where it fits with the least memory; where nowhere, what is tight; "no", "unknown". */
static void fits_cell(yyjson_val *obj, size_t column, int64_t now, struct buf *out) {
    yyjson_val *best = NULL, *fit;
    size_t i, n;
    struct buf b;
    (void)now;
    if (column != COLUMN_FITS) {
        buf_c(out, "null");
        return;
    }
    yyjson_arr_foreach(json_get(obj, STR("fits")), i, n, fit) {
        best = best == NULL || before(fit, best) ? fit : best;
    }
    struct str slice = json_str_at(best, "slice"), gpu = json_str_at(best, "gpu");
    buf_init(&b, 1024);
    if (best == NULL || rank(best) > 1) {
        buf_c(&b, best == NULL || rank(best) == 2 ? "unknown" : "no");
    } else {
        buf_f(&b, "%.*s%s", STR_ARG(slice.n > 0 ? slice : gpu), rank(best) == 1 ? " (tight)" : "");
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

const struct kind kind_catalog_model = {
    .group = "berth.dev",
    .kind = "CatalogModel",
    .plural = "catalogmodels",
    .singular = "catalogmodel",
    .flags = KIND_COMPUTED,
    .columns = columns,
    .n_columns = COUNT(columns),
    .cell = fits_cell,
    .versions =
        &(const struct kind_version){.version = "v1alpha1", .schema = &schema_catalog_model},
    .n_versions = 1,
};

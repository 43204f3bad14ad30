/*
 * fit_report: the output of `berth fit` as a table and as JSON, one row for each GPU and slice.
 */
#ifndef BERTH_CLI_FIT_REPORT_H
#define BERTH_CLI_FIT_REPORT_H

#include "base/buf.h"
#include "cli/kit/table.h"
#include "cli/model/model_files.h"
#include "core/model/fit.h"

struct fit_row {
    struct str gpu, slice; /* slice empty: the whole GPU */
    struct fit_device device;
    struct fit_answer answer;
};

struct fit_report {
    const struct model_files *model;
    const struct fit_ask *ask;
    struct fit_row *rows;
    size_t n;
    bool catalog; /* the GPUs are of the catalogue, not of a fleet */
};

/* The table, and above it what is known of the model. */
void fit_report_table(const struct fit_report *r, struct arena *a, bool colour, int width,
                      struct buf *out);
void fit_report_json(const struct fit_report *r, struct buf *out);

#endif

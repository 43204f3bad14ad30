/* job_spec: the options of `berth submit` to a batch/v1 Job. No I/O. */
#ifndef BERTH_CLI_JOB_SPEC_H
#define BERTH_CLI_JOB_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/kit/options.h"

/* Appends the Job's JSON. ERR_BAD_REQUEST names the option and what was expected. */
int job_spec_build(const struct cli_args *a, struct buf *out, struct err *err);
/* "2g.35gb" and "1g.18gb+me" as resources; false when it is no MIG profile. */
enum { SLICE_TEXT_MAX = 64 };
bool job_spec_slice(struct str profile, char ret[SLICE_TEXT_MAX]);
/* "90", "45s", "30m", "12h", "7d", "1h30m" to seconds. */
bool job_spec_seconds(struct str text, int64_t *ret);

/* An amount of memory as people write it, into a quantity: "35GB" and "35 gb" are "35G", "16GiB" is "16Gi". False when
 * it is too long; what is no amount stays as it is. */
bool job_spec_memory(struct str text, char ret[32]);

#endif

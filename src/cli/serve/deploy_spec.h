/* deploy_spec: the options of `berth deploy` to an InferenceService. No I/O but the catalog's. */
#ifndef BERTH_CLI_DEPLOY_SPEC_H
#define BERTH_CLI_DEPLOY_SPEC_H

#include "base/arena.h"
#include "base/err.h"
#include "cli/kit/options.h"
#include "wire/json/json.h"

struct deploy_spec {
    struct str name, uri, format;
    yyjson_mut_doc *doc; /* the object */
};

/* ns: of the object; empty: not said. ERR_BAD_REQUEST names the option and what was expected; ERR_NOT_FOUND: no such
 * model. All in the arena. */
int deploy_spec_build(const struct cli_args *a, struct str ns, struct arena *arena,
                      struct deploy_spec *ret, struct err *err);

#endif

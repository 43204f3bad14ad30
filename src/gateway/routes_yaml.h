/*
 * routes_yaml: the table of models from a YAML file, for a gateway that stands alone. The format is in
 * docs/gateway.md.
 */
#ifndef BERTH_GATEWAY_ROUTES_YAML_H
#define BERTH_GATEWAY_ROUTES_YAML_H

#include "gateway/routes.h"

enum { ROUTES_FILE_MAX = 32 << 20 };

/* ERR_SYNTAX or ERR_INVALID with the path of the member and what was expected; ERR_NOMEM. The reference is the
 * caller's. */
int routes_read_yaml(struct str text, struct routes **ret, struct err *err);

#endif

/*
 * source_value: the number that KEDA's metrics-api trigger finds in a body: JSON by a path of gjson, YAML by names and
 * indexes with dots. A text counts where it is a quantity. XML is refused, as upstream's reader refuses every document.
 */
#ifndef BERTH_CORE_SOURCE_VALUE_H
#define BERTH_CORE_SOURCE_VALUE_H

#include "base/arena.h"
#include "base/err.h"

/* ERR_INVALID: the place has no number. */
int source_value(struct str format, struct str body, struct str location, struct arena *a,
                 double *ret, struct err *err);

#endif

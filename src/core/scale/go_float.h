/* go_float: numbers as Go's strconv.ParseFloat reads them: Inf and NaN in any case, hexadecimal, _ between digits. */
#ifndef BERTH_CORE_GO_FLOAT_H
#define BERTH_CORE_GO_FLOAT_H

#include "base/str.h"

/* False: it is none, or too great. */
bool go_float(struct str text, double *ret);

#endif

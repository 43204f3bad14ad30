/* lines: a file of recorded cases, one JSON value a line; blank lines count for nothing. */
#ifndef BERTH_TESTS_REPLAY_LINES_H
#define BERTH_TESTS_REPLAY_LINES_H

#include <stdbool.h>

#include "wire/json/json.h"

/* `one` is called for each value until it returns false; what is made in its arena lasts until it returns. False when
 * the file cannot be read to its end: that is told on stderr, after the program's name. */
bool lines_each(const char *program, const char *path,
                bool (*one)(void *ctx, yyjson_val *value, struct arena *a), void *ctx);

#endif

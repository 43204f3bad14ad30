/* sha1: FIPS 180-4 SHA-1, for names that must equal Kueue's. Not for security. */
#ifndef BERTH_BASE_SHA1_H
#define BERTH_BASE_SHA1_H

#include "base/str.h"

enum { SHA1_BYTES = 20 };

void sha1(struct str data, uint8_t out[static SHA1_BYTES]);

#endif

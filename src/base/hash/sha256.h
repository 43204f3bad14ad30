/* sha256: FIPS 180-4 SHA-256, for names that must equal Kueue's. Not for security. */
#ifndef BERTH_BASE_SHA256_H
#define BERTH_BASE_SHA256_H

#include "base/str.h"

enum { SHA256_BYTES = 32 };

void sha256(struct str data, uint8_t out[static SHA256_BYTES]);

#endif

/*
 * keyed_hash: a hash of bytes that nobody outside the process can foresee, so that keys which guests choose cannot be
 * made to collide. Never for what is kept or told, nor for an order: it is another one in each process.
 */
#ifndef BERTH_BASE_KEYED_HASH_H
#define BERTH_BASE_KEYED_HASH_H

#include "base/str.h"

void keyed_hash_seed(uint64_t seed); /* once, before the first hash (map_set_seed does) */
uint64_t keyed_hash(struct str key);

#endif

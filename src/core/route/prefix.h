/*
 * prefix (core): which endpoint has seen how much of a prompt.
 *
 * A prompt is cut into blocks of PREFIX_BLOCK bytes (or tokens). The hash of each block continues that of the block
 * before it, so a hash stands for the whole prompt up to its block, as in vLLM's prefix cache. The first hash continues
 * a salt of model, adapter and tenant, whose caches are not shared. An incomplete last block does not count.
 *
 * The index holds (hash, endpoint) pairs in sets of PREFIX_WAYS, in memory that is allocated once; a new pair replaces
 * the least recently used one of its set. The index is a guess at the servers' caches: a wrong guess costs a miss.
 *
 * Hashes have 64 bits and are keyed with the caller's seed, so that a tenant cannot construct collisions.
 */
#ifndef BERTH_CORE_ROUTE_PREFIX_H
#define BERTH_CORE_ROUTE_PREFIX_H

#include "base/str.h"

enum { PREFIX_BLOCK = 256, PREFIX_BLOCKS_MAX = 512, PREFIX_WAYS = 8 };

struct prefix_pair {
    uint64_t hash; /* 0: free */
    uint32_t endpoint, tick;
};

struct prefix_index {
    struct prefix_pair *v;
    size_t sets; /* a power of two */
    uint32_t tick;
};

/* An endpoint, and how many blocks of the prompt it has seen. */
struct prefix_match {
    uint32_t endpoint, blocks;
};

/* Hashes the whole blocks of a prompt, at most `most`; returns how many. */
size_t prefix_hashes(uint64_t seed, struct str salt, struct str prompt, uint64_t *ret, size_t most);

/* As many sets as fit into so many bytes. 0 or ERR_NOMEM. */
int prefix_init(struct prefix_index *x, size_t bytes);
void prefix_release(struct prefix_index *x);

/* Endpoints that have seen the longest prefixes, longest first; returns how many, at most PREFIX_WAYS. */
size_t prefix_find(const struct prefix_index *x, const uint64_t *hashes, size_t n,
                   struct prefix_match ret[PREFIX_WAYS]);
/* The prompt was sent to that endpoint. */
void prefix_add(struct prefix_index *x, const uint64_t *hashes, size_t n, uint32_t endpoint);
/* The endpoint is gone or lost its cache; walks the whole index. */
void prefix_forget(struct prefix_index *x, uint32_t endpoint);

#endif

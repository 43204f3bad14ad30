/*
 * measure: what the benchmarks share: time, percentiles, and the floors they are held against.
 *
 * Floors are measured in the same run, before and after, and the better one counts: this machine is never quiet.
 */
#ifndef BERTH_BENCH_MEASURE_H
#define BERTH_BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

int64_t measure_now(void); /* ns, monotonic */

/* Overwrites `bytes` of a preallocated file in dir and calls fdatasync, for about `seconds`: calls per second, or 0. */
double measure_fdatasync(const char *dir, size_t bytes, double seconds);

/* Sorts v; the value below which `part` (0..1) of them lie. */
int64_t measure_percentile(int64_t *v, size_t n, double part);

#endif

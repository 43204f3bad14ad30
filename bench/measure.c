/* measure: see measure.h. */
#include "measure.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t measure_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Blocks are written in turn over 8 MiB that are all on disk before. */
static double write_and_sync(int fd, const char *block, size_t bytes, double seconds) {
    enum { FILE_BYTES = 8 << 20 };
    size_t blocks = FILE_BYTES / bytes;
    for (size_t i = 0; i < blocks; i++) {
        if (pwrite(fd, block, bytes, (off_t)(i * bytes)) != (ssize_t)bytes) {
            return 0;
        }
    }
    if (fsync(fd) == -1) {
        return 0;
    }
    int64_t start = measure_now(), end = start + (int64_t)(seconds * 1e9);
    size_t n = 0;
    while (measure_now() < end) {
        if (pwrite(fd, block, bytes, (off_t)(n % blocks * bytes)) != (ssize_t)bytes ||
            fdatasync(fd) == -1) {
            return 0;
        }
        n++;
    }
    return (double)n * 1e9 / (double)(measure_now() - start);
}

double measure_fdatasync(const char *dir, size_t bytes, double seconds) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/floor-XXXXXX", dir);
    char *block = malloc(bytes);
    int fd = block ? mkostemp(path, O_CLOEXEC) : -1;
    double rate = 0;
    if (fd != -1) {
        memset(block, 'x', bytes);
        rate = write_and_sync(fd, block, bytes, seconds);
        close(fd);
        unlink(path);
    }
    free(block);
    return rate;
}

static int cmp_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t measure_percentile(int64_t *v, size_t n, double part) {
    if (n == 0) {
        return 0;
    }
    qsort(v, n, sizeof(*v), cmp_i64);
    size_t i = (size_t)(part * (double)n);
    return v[i < n ? i : n - 1];
}

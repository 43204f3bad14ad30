/* serverlog: see serverlog.h. */
#include "core/model/serverlog.h"

#include <string.h>

#define MIB (INT64_C(1) << 20)
#define NUMBER_MAX 1e15

/* Behind the first `words` in *rest; false: they are not there. */
static bool after(struct str *rest, const char *words) {
    size_t n = strlen(words);
    const char *at = rest->n >= n ? memmem(rest->p, rest->n, words, n) : NULL;

    if (at == NULL) {
        return false;
    }
    *rest = str_from(at + n, rest->n - (size_t)(at + n - rest->p));
    return true;
}

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

/* A number at the front, with commas between thousands and perhaps a fraction; blanks before it. *rest goes behind
 * it. */
static bool number(struct str *rest, double *ret) {
    double n = 0, unit = 1;
    size_t i = 0;
    bool minus, any = false, fraction = false;

    while (i < rest->n && (rest->p[i] == ' ' || rest->p[i] == '(')) {
        i++;
    }
    minus = i < rest->n && rest->p[i] == '-';
    for (i += minus; i < rest->n; i++) {
        char c = rest->p[i];
        bool more = i + 1 < rest->n && digit(rest->p[i + 1]);
        if (digit(c)) {
            unit = fraction ? unit / 10 : unit;
            n = fraction ? n + (c - '0') * unit : n * 10 + (c - '0');
            any = true;
        } else if (c == '.' && !fraction && more) {
            fraction = true;
        } else if (!(c == ',' && !fraction && any && more)) {
            break;
        }
    }
    if (!any || n > NUMBER_MAX) {
        return false;
    }
    *rest = str_from(rest->p + i, rest->n - i);
    *ret = minus ? -n : n;
    return true;
}

/* A number with its unit, as bytes. */
static bool bytes(struct str *rest, int64_t *ret) {
    double n;

    if (!number(rest, &n) || n > 1e7) {
        return false;
    }
    struct str unit = str_trim(str_head(*rest, rest->n < 5 ? rest->n : 5));
    double by = str_starts(unit, STR("GiB"))   ? 1073741824.0
                : str_starts(unit, STR("MiB")) ? 1048576.0
                : str_starts(unit, STR("GB")) ? 1073741824.0 /* version 0 writes GB and means GiB */
                                              : 0;
    *ret = (int64_t)(n * by + (n < 0 ? -0.5 : 0.5));
    return by > 0;
}

static bool whole(struct str *rest, int64_t *ret) {
    double n;
    if (!number(rest, &n) || n < 0) {
        return false;
    }
    *ret = (int64_t)n;
    return true;
}

/* ---- vLLM ---- */

static bool refused(struct serverlog *s, struct str line) {
    struct str rest = line;
    int64_t n;
    bool told = false;

    if (after(&rest, "max seq len (") && after(&rest, "),") && bytes(&rest, &n)) {
        s->needed = n;
        told = true;
    }
    if (told && after(&rest, "available KV cache memory") && bytes(&rest, &n)) {
        s->cache = n;
        s->cache_said = true;
    }
    rest = line;
    if (after(&rest, "estimated maximum model length is") && whole(&rest, &n)) {
        s->longest = n;
        told = true;
    }
    return told;
}

/* "Free memory on device [cuda:0] (15.1/16.0 GiB) on startup is less than desired GPU memory utilization (0.9, ..." */
static bool short_of_memory(struct serverlog *s, struct str rest) {
    double has, all, share;

    if (!after(&rest, "Free memory on device") || !after(&rest, "(") || !number(&rest, &has) ||
        !after(&rest, "/") || !number(&rest, &all) || has < 0 || all > 1e6 || has > all) {
        return false;
    }
    s->free_memory = (int64_t)(has * 1073741824.0);
    s->device_memory = (int64_t)(all * 1073741824.0);
    if (after(&rest, "utilization (") && number(&rest, &share) && share > 0 && share <= 1) {
        s->utilization = (int64_t)(share * 1000000 + 0.5);
    }
    return true;
}

static bool vllm(struct serverlog *s, struct str line) {
    struct str rest = line;
    int64_t n;

    if ((after(&rest, "odel loading took ") || after(&rest, "oading model weights took ")) &&
        bytes(&rest, &n)) {
        s->weights = n;
        return true;
    }
    rest = line;
    if (after(&rest, "Available KV cache memory:") && bytes(&rest, &n)) {
        s->cache = n;
        s->cache_said = true;
        return true;
    }
    rest = line;
    if (after(&rest, "GPU KV cache size:") && whole(&rest, &n)) {
        s->tokens = n;
        return true;
    }
    rest = line;
    if (after(&rest, "# GPU blocks:") && whole(&rest, &n)) {
        s->blocks = n;
        return true;
    }
    rest = line;
    if (after(&rest, "Graph capturing finished") && after(&rest, "took") && bytes(&rest, &n)) {
        s->graphs = n;
        return true;
    }
    return refused(s, line) || short_of_memory(s, line);
}

/* ---- llama.cpp ---- */

static bool llama(struct serverlog *s, struct str line) {
    static const struct {
        const char *words;
        size_t at;
    } buffers[] = {{" model buffer size =", offsetof(struct serverlog, weights)},
                   {" KV buffer size =", offsetof(struct serverlog, cache)},
                   {" compute buffer size =", offsetof(struct serverlog, compute)}};
    struct str rest;
    int64_t n;

    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++) {
        rest = line;
        if (!after(&rest, buffers[i].words) || !bytes(&rest, &n) || n < 0) {
            continue;
        }
        struct str device = str_head(line, line.n - rest.n);
        if (memmem(device.p, device.n, "CPU", 3) != NULL ||
            memmem(device.p, device.n, "_Host", 5) != NULL) {
            return false;
        }
        int64_t *sum = (int64_t *)(void *)((char *)s + buffers[i].at);
        *sum = *sum < (int64_t)NUMBER_MAX ? *sum + n : *sum;
        s->cache_said = s->cache_said || i == 1;
        return true;
    }
    return false;
}

bool serverlog_line(struct serverlog *s, struct str line) {
    struct str seen = str_head(line, line.n < SERVERLOG_LINE ? line.n : SERVERLOG_LINE);
    return vllm(s, seen) || llama(s, seen);
}

int64_t serverlog_overhead(const struct serverlog *s, int64_t may_use, int64_t token) {
    int64_t cache =
        s->tokens > 0 && token > 0 && s->tokens < INT64_MAX / token ? s->tokens * token : s->cache;
    if (s->compute > 0) {
        return s->compute;
    }
    if (s->weights <= 0 || !(s->cache_said || s->tokens > 0)) {
        return -1;
    }
    int64_t left = may_use - s->weights - cache;
    return left >= 0 ? left : -1;
}

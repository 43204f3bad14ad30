/*
 * gguf (core): a strict reader of the header of a GGUF file: its keys, its tensors, and their sizes.
 *
 * GGUF is the format of llama.cpp (described in ggml's docs/gguf.md; versions 2 and 3, little-endian): magic, version,
 * numbers of tensors and keys, the keys with typed values, one record for each tensor, padding, the tensors' bytes.
 * Offsets count from the start of the data and are aligned to "general.alignment" (32). A tensor begins where the one
 * before it ends, padded; files that differ are refused, as llama.cpp does.
 *
 * No I/O: the caller passes the first bytes of a file and its length. If they are too few, the result is ERR_AGAIN with
 * the least number needed; the caller reads at least that many and calls again from the start, with the arena reset.
 * Vocabularies are stored in keys, so a header can have tens of MB: at most LIMIT_MODEL_HEADER_BYTES. Of lists only
 * those of numbers with at most GGUF_LIST_MAX items are kept; the others are skipped. Names are views into `head`.
 */
#ifndef BERTH_CORE_MODEL_GGUF_H
#define BERTH_CORE_MODEL_GGUF_H

#include "base/arena.h"
#include "base/err.h"

enum { GGUF_LIST_MAX = 1024, GGUF_DIMENSIONS_MAX = 4 };

enum gguf_kind { GGUF_SKIPPED, GGUF_WHOLE, GGUF_REAL, GGUF_BOOL, GGUF_TEXT, GGUF_LIST };

struct gguf_value {
    struct str key;
    enum gguf_kind kind;
    int64_t whole; /* GGUF_WHOLE, GGUF_BOOL */
    double real;   /* GGUF_REAL */
    struct str text;
    int64_t *list; /* GGUF_LIST: whole numbers and bools */
    size_t n_list;
};

struct gguf_tensor {
    struct str name, type;
    int64_t elements, offset, bytes;
};

struct gguf {
    uint32_t version;
    struct gguf_value *keys;
    size_t n_keys;
    struct gguf_tensor *tensors;
    size_t n_tensors;
    int64_t elements; /* weights: of quantised types too, as a block says how many it holds */
    int64_t bytes;    /* of the tensors, without padding */
    int64_t data;     /* where they begin in the file */
};

/* 0; ERR_AGAIN with *ret_need; ERR_SYNTAX: no GGUF file, or cut short; ERR_UNSUPPORTED: a version, byte order or type
 * that is not known; ERR_INVALID: a record contradicts another, the text names it; ERR_TOO_LARGE, ERR_NOMEM. */
int gguf_read(struct arena *a, struct str head, int64_t file_bytes, struct gguf *ret,
              int64_t *ret_need, struct err *err);

/* NULL: there is none. The last that stands. */
const struct gguf_value *gguf_key(const struct gguf *g, struct str key);
/* "<general.architecture>.<name>" as a whole number. */
int64_t gguf_whole(const struct gguf *g, const char *name, int64_t otherwise);
/* The same key's value, NULL: there is none. */
const struct gguf_value *gguf_arch(const struct gguf *g, const char *name);

/* The name of a type, elements of one block and bytes of it; false: not known. */
bool gguf_type(uint32_t type, const char **ret_name, int64_t *ret_elements, int64_t *ret_bytes);

#endif

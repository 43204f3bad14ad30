/*
 * safetensors (core): a strict reader of the header of a .safetensors file.
 *
 * A file is 8 bytes (the header's length, little-endian), that many bytes of JSON, and the tensors' bytes. The JSON is
 * an object in which each member is a tensor {"dtype", "shape", "data_offsets": [from, to]}, except "__metadata__",
 * which is an object of strings. Source: the README of huggingface/safetensors: offsets count from the end of the
 * header, no bytes lie between or outside the tensors, names are unique, the header begins with '{'.
 *
 * All of this is checked, so `bytes` is exactly the size of the weights. No I/O: the caller reads the first
 * SAFETENSORS_PREFIX bytes, asks for the length of the header, reads that, and passes it on. The tensors are allocated
 * in the arena; their names are views into it.
 */
#ifndef BERTH_CORE_MODEL_SAFETENSORS_H
#define BERTH_CORE_MODEL_SAFETENSORS_H

#include "base/arena.h"
#include "base/err.h"

enum { SAFETENSORS_PREFIX = 8 };

struct safetensors_tensor {
    struct str name, dtype;
    int64_t elements, from, bytes;
};

struct safetensors {
    struct safetensors_tensor *v; /* in the order of their bytes */
    size_t n;
    int64_t elements, bytes; /* of all: packed formats have more weights than elements */
};

/* The length of the header, from the first 8 bytes of a file of file_bytes. ERR_SYNTAX: the file is too short for it;
 * ERR_TOO_LARGE: above LIMIT_MODEL_HEADER_BYTES. */
int safetensors_length(struct str prefix, int64_t file_bytes, int64_t *ret_header, struct err *err);

/* The header's JSON, and how many bytes follow it in the file (below 0: not known, then they are not compared).
 * ERR_SYNTAX: no JSON of that form; ERR_INVALID: it contradicts itself or the file, the text names the tensor;
 * ERR_TOO_LARGE: more than LIMIT_MODEL_TENSORS; ERR_NOMEM. */
int safetensors_read(struct arena *a, struct str header, int64_t data_bytes,
                     struct safetensors *ret, struct err *err);

/* Bits of one element, 0 for a name that the format does not have. */
int safetensors_bits(struct str dtype);

/* "model.safetensors.index.json", which lists the files of a model in parts: the sum of their bytes as it says
 * (metadata.total_size; 0: it does not), and the names of the files, each once. */
struct safetensors_index {
    int64_t total_bytes;
    struct str *files;
    size_t n;
};
int safetensors_index_read(struct arena *a, struct str json, struct safetensors_index *ret,
                           struct err *err);

#endif

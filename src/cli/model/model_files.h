/*
 * model_files: reads a model on the local disk into facts (core/model/facts.h): a folder with the layout of Hugging
 * Face, or a single file.
 *
 *     DIR                config.json and the headers of its *.safetensors; without config.json its only *.gguf
 *     config.json        dimensions only: the weights are computed from them
 *     FILE.safetensors   the config.json beside it, and the weights of this file
 *     FILE.gguf          the file; of "NAME-00001-of-00003.gguf" all parts
 *
 * Only headers are read, within the limits of base/limits.h. In a folder with an index (model.safetensors.index.json)
 * only the files that it names count; if one is missing, the total stated in the index is used, and `note` says so.
 * "consolidated*.safetensors" is a second copy of the same model and is ignored.
 */
#ifndef BERTH_CLI_MODEL_FILES_H
#define BERTH_CLI_MODEL_FILES_H

#include "core/model/facts.h"

struct model_files {
    struct facts facts;
    bool gguf;
    size_t n;        /* files of weights that were read */
    struct str note; /* what one should know; empty: nothing */
};

/* Errors name the file. ERR_NOT_FOUND: there is none; ERR_BAD_REQUEST: the folder has no model, or several. */
int model_files_read(struct arena *a, const char *path, struct model_files *ret, struct err *err);
/* A whole small file, such as a log. ERR_TOO_LARGE beyond `most`. */
int model_files_text(struct arena *a, const char *path, size_t most, struct str *ret,
                     struct err *err);

#endif

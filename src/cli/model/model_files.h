/*
 * model_files: a model on this machine's disk, as facts (core/model/facts.h): a folder as Hugging Face lays it out,
 * or one file of it.
 *
 *     DIR                config.json, and the heads of its *.safetensors; without config.json its one *.gguf
 *     config.json        sizes alone: weights are counted from them
 *     FILE.safetensors   the config.json beside it, and the weights of this file
 *     FILE.gguf          itself; of "NAME-00001-of-00003.gguf" all of the parts
 *
 * Only heads of files are read, within the limits of base/limits.h. Of a folder with an index
 * (model.safetensors.index.json) the files that it names count, and no others; where one is missing the sum that the
 * index states is taken, and `note` says so. "consolidated*.safetensors" is the same model once more and is left out.
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

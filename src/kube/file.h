/* file (kube): whole small files, into an arena. */
#ifndef BERTH_KUBE_FILE_H
#define BERTH_KUBE_FILE_H

#include "base/arena.h"
#include "base/err.h"

/* ERR_NOT_FOUND when there is none, ERR_TOO_LARGE beyond max, ERR_IO. The view is NUL-terminated. */
int kube_file_read(struct arena *a, const char *path, size_t max, struct str *ret, struct err *err);

#endif

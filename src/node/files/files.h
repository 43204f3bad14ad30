/*
 * files: small files and folders, without surprises: names are ours or checked, links are not
 * followed where a tenant could have put one. Files are replaced by base/file_store.
 */
#ifndef BERTH_NODE_FILES_H
#define BERTH_NODE_FILES_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/file_store.h"
#include "wire/json/json.h"

enum { PATH_LEN = 1024, FILE_READ_MAX = 8 << 20 };

/* Joins with '/', ERR_TOO_LARGE beyond PATH_LEN. */
int path_join(char out[PATH_LEN], const char *a, const char *b, struct err *err);
/* A file name without '/' that is not "." or "..". */
bool path_plain(struct str name);

/* The whole file, in the arena. ERR_NOT_FOUND when it is not there. */
int file_load(const char *dir, const char *name, struct arena *a, struct str *ret, struct err *err);
/* A state file of ours, as JSON. Empty, torn or anything else but JSON is ERR_SYNTAX, with the path. */
int file_load_json(const char *dir, const char *name, struct arena *a, yyjson_doc **ret,
                   struct err *err);

/* mkdir -p; existing folders are left as they are. */
int dir_make(const char *path, mode_t mode, struct err *err);
/* Removes a tree: never follows links, never crosses into another file system. Missing is fine. */
int dir_remove(const char *path, struct err *err);
/* The same of what `at` is open on. */
int dir_remove_at(int at, const char *name, struct err *err);
/* chown of a tree, links themselves. */
int dir_own(const char *path, uid_t uid, gid_t gid, struct err *err);

#endif

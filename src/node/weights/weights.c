/* weights: see weights.h. */
#include "node/weights/weights.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "node/files/files.h"

static int refuse(struct str uri, const char *why, struct err *err) {
    return err_set(err, ERR_INVALID, "weights \"%.*s\": %s", STR_ARG(str_head(uri, 200)), why);
}

/* Whole parts, none of them "." or "..", none empty. */
static bool plain_parts(struct str path) {
    struct str rest = str_skip(path, 1), part;

    if (path.n < 2 || path.p[0] != '/' || path.p[path.n - 1] == '/') {
        return false;
    }
    while (str_next(&rest, '/', &part)) {
        if (!path_plain(part)) {
            return false;
        }
    }
    return true;
}

static const char *why_not_served(struct str uri) {
    static const char *const known[] = {"hf://", "s3://", "gs://", "https://", "http://", "oci://"};

    if (str_starts(uri, STR("pvc://"))) {
        return "the claim is to be a volume of the pod, mounted at " WEIGHTS_TARGET;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_starts(uri, str_of(known[i]))) {
            return "this node downloads nothing: put the files in a folder below --weights, and "
                   "name that, as in file:///srv/models/llama";
        }
    }
    return "must be a file:// URI, as in file:///srv/models/llama";
}

int weights_uri_path(struct str uri, struct str *ret, struct err *err) {
    struct str path = str_skip(uri, STR("file://").n);

    if (uri.n > WEIGHTS_URI_MAX) {
        return refuse(uri, "must be at most 2048 bytes", err);
    }
    if (!str_starts(uri, STR("file://"))) {
        return refuse(uri, why_not_served(uri), err);
    }
    if (!plain_parts(path)) {
        return refuse(uri,
                      "must name a folder by its whole path, without \".\", \"..\" and doubled "
                      "slashes, as in file:///srv/models/llama",
                      err);
    }
    *ret = path;
    return 0;
}

static bool lies_below(struct str path, struct str root) {
    return str_starts(path, root) &&
           (path.n == root.n || path.p[root.n] == '/' || str_is(root, "/"));
}

/* Links are resolved, and what they lead to must be allowed too. */
static int find_folder(struct str uri, struct str path, const char *allowed, char real[PATH_MAX],
                       struct err *err) {
    char want[WEIGHTS_URI_MAX + 1], root[PATH_MAX];
    struct stat st;

    if (allowed == NULL || realpath(allowed, root) == NULL) {
        return refuse(uri, "no folder of weights is allowed on this node (--weights DIR)", err);
    }
    if (!lies_below(path, str_of(allowed)) && !lies_below(path, str_of(root))) {
        return refuse(uri, "lies outside of the folder that --weights allows", err);
    }
    str_copy(path, want, sizeof(want));
    if (realpath(want, real) == NULL) {
        return err_set(err, ERR_NOT_FOUND, "weights \"%.*s\": %s", STR_ARG(str_head(uri, 200)),
                       strerror(errno));
    }
    if (!lies_below(str_of(real), str_of(root))) {
        return refuse(uri, "leads out of the folder that --weights allows", err);
    }
    if (stat(real, &st) == -1 || !S_ISDIR(st.st_mode)) {
        return refuse(uri, "must be a folder", err);
    }
    return 0;
}

static bool mounts_there(yyjson_val *container) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(container, STR("volumeMounts")));

    for (yyjson_val *m; (m = yyjson_arr_iter_next(&it));) {
        struct str at = json_str_at(m, "mountPath");
        while (at.n > 1 && at.p[at.n - 1] == '/') {
            at.n--;
        }
        if (lies_below(at, STR(WEIGHTS_TARGET))) {
            return true;
        }
    }
    return false;
}

int weights_source(yyjson_val *pod, yyjson_val *container, const char *allowed, struct arena *a,
                   struct str *ret, struct err *err) {
    struct str uri = json_str(json_get(json_path(pod, "metadata.annotations"), STR(WEIGHTS_URI)));
    struct str path;
    char real[PATH_MAX];

    if (uri.n == 0) {
        *ret = (struct str){NULL, 0};
        return 0;
    }
    int code = weights_uri_path(uri, &path, err);
    code = code ? code : find_folder(uri, path, allowed, real, err);
    if (code == 0 && mounts_there(container)) {
        code = refuse(uri, "a volume is mounted at " WEIGHTS_TARGET " already", err);
    }
    struct str found = code ? STR("") : arena_str(a, str_of(real));
    if (code == 0 && found.p == NULL) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    if (code == 0) {
        *ret = found;
    }
    return code;
}

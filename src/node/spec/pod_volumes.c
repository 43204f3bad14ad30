/* pod_volumes: see pod_volumes.h. */
#include "node/spec/pod_volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tables/storage.h"
#include "node/files/beneath.h"
#include "node/files/files.h"
#include "node/spec/pod_made.h"

/* A folder that a project's pods share: see users.h. Its number as a user is nobody's. */
enum { SHARED = 02775 };

/* What is done with a volume that the API makes: only looked at, stored where it differs, made from nothing. */
enum pod_volumes_step { POD_VOLUMES_LOOK, POD_VOLUMES_CHANGED, POD_VOLUMES_ANEW };

/* `path` as seen from folder `root`; false when it lies elsewhere. */
static bool lies_in(struct str path, struct str root, struct str *ret_rest) {
    if (!str_starts(path, root) || (path.n > root.n && path.p[root.n] != '/')) {
        return false;
    }
    *ret_rest = str_skip(path, root.n);
    return true;
}

/* A folder that is wanted and missing: below the allowed one, by no link, and the project's own. */
static int create_host_folder(const struct pod_volumes_in *in, const char *path,
                              const char *allowed, struct err *err) {
    struct str rest;

    if (!lies_in(str_of(path), str_of(in->host_path_dir), &rest) &&
        !lies_in(str_of(path), str_of(allowed), &rest)) {
        return err_set(err, ERR_INVALID, "hostPath \"%s\" lies outside of %s", path, allowed);
    }
    int dir = open(allowed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir == -1 ? -1 : beneath_make(dir, rest.p, SHARED, (uid_t)in->gid, in->gid);
    int code = fd != -1 ? 0
                        : err_set(err, errno == ENOSPC ? ERR_NOT_FOUND : ERR_INVALID,
                                  "hostPath \"%s\" cannot be created: %s", path, strerror(errno));
    if (dir != -1) {
        close(dir);
    }
    if (fd != -1) {
        close(fd);
    }
    return code;
}

/* The real path of a hostPath, which must exist and lie below the allowed folder. It is looked at here so that an
 * error names what is wrong; what is mounted is opened anew, without links (mounts.c). */
static int host_path(const struct pod_volumes_in *in, yyjson_val *v, char out[PATH_MAX],
                     struct err *err) {
    char want[PATH_LEN], allowed[PATH_MAX];
    struct str path = json_str_at(v, "path"), type = json_str_at(v, "type"), rest;

    if (in->host_path_dir == NULL || realpath(in->host_path_dir, allowed) == NULL) {
        return err_set(err, ERR_INVALID, "hostPath \"%.*s\": no folder is allowed on this node",
                       STR_ARG(path));
    }
    if (!str_copy(path, want, sizeof(want)) || str_contains(path, STR(".."))) {
        return err_set(err, ERR_INVALID, "hostPath \"%.*s\" is not allowed", STR_ARG(path));
    }
    bool there = realpath(want, out) != NULL;
    if (!there && errno == ENOENT && str_is(type, "DirectoryOrCreate")) {
        int code = create_host_folder(in, want, allowed, err);
        if (code) {
            return code;
        }
        there = realpath(want, out) != NULL;
    }
    if (!there) {
        return err_set(err, ERR_NOT_FOUND, "hostPath \"%.*s\": %s", STR_ARG(path), strerror(errno));
    }
    if (!lies_in(str_of(out), str_of(allowed), &rest)) {
        return err_set(err, ERR_INVALID, "hostPath \"%.*s\" lies outside of %s", STR_ARG(path),
                       allowed);
    }
    return 0;
}

/* ---- claims ---- */

/* Where the volume of a claim lies. */
struct claim_place {
    bool read_only, own; /* own: a folder below claims_dir, which the project's pods share */
    char path[PATH_MAX];
};

static int no_claim(struct str name, const char *why, struct err *err) {
    return err_set(err, ERR_NOT_FOUND, "persistentvolumeclaim \"%.*s\" %s", STR_ARG(name), why);
}

static bool is_of(yyjson_val *volume, yyjson_val *claim) {
    return str_eq(json_str_at(volume, "spec.claimRef.uid"), json_str_at(claim, "metadata.uid")) &&
           json_str_at(claim, "metadata.uid").n > 0;
}

static bool is_here(const struct pod_volumes_in *in, yyjson_val *volume) {
    yyjson_val *terms = json_path(volume, "spec.nodeAffinity.required.nodeSelectorTerms");
    yyjson_val *q =
        yyjson_arr_get_first(json_get(yyjson_arr_get_first(terms), STR("matchExpressions")));
    bool says = str_is(json_str_at(q, "key"), STORAGE_HOSTNAME);
    return !says || str_is(json_str(yyjson_arr_get_first(json_get(q, STR("values")))),
                           in->node_name ? in->node_name : "");
}

/* ERR_NOT_FOUND while the claim is not there or not bound. */
static int claim_place(const struct pod_volumes_in *in, yyjson_val *source, struct claim_place *ret,
                       struct err *err) {
    const struct pod_env_in *e = in->env;
    struct str name = json_str_at(source, "claimName"), handle;
    yyjson_val *claim = e->lookup(e->ctx, POD_CLAIM, name), *volume = NULL, *path;

    if (in->no_mounts || in->claims_dir == NULL) {
        return err_set(err, ERR_INVALID, "persistentvolumeclaim \"%.*s\": this node cannot mount",
                       STR_ARG(name));
    }
    if (claim == NULL) {
        return no_claim(name, "not found", err);
    }
    struct str volume_name = json_str_at(claim, "spec.volumeName");
    if (str_is(json_str_at(claim, "status.phase"), "Bound") && volume_name.n > 0) {
        volume = e->lookup(e->ctx, POD_PERSISTENT_VOLUME, volume_name);
    }
    if (volume == NULL || !is_of(volume, claim)) {
        return no_claim(name, "is not bound to a volume yet", err);
    }
    if (!is_here(in, volume)) {
        return no_claim(name, "has its volume on another node", err);
    }
    ret->read_only =
        json_bool_at(source, "readOnly", false) || json_bool_at(volume, "spec.csi.readOnly", false);
    ret->own = str_is(json_str_at(volume, "spec.csi.driver"), STORAGE_DRIVER);
    handle = json_str_at(volume, "spec.csi.volumeHandle");
    if (ret->own) {
        bool plain = path_plain(handle) && handle.p[0] != '.';
        return plain && snprintf(ret->path, PATH_MAX, "%s/%.*s", in->claims_dir, STR_ARG(handle)) <
                            PATH_MAX
                   ? 0
                   : err_set(err, ERR_INVALID, "volume handle \"%.*s\"", STR_ARG(handle));
    }
    path = json_path(volume, "spec.hostPath");
    path = path ? path : json_path(volume, "spec.local");
    return host_path(in, path, ret->path, err);
}

/* The folder of an image that was brought here for the volume. */
static int image_place(const struct pod_volumes_in *in, struct str volume, struct str *ret,
                       struct err *err) {
    for (size_t i = 0; i < in->n_images && !in->no_mounts; i++) {
        if (str_eq(in->images[i].volume, volume)) {
            *ret = in->images[i].root;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID,
                   "volume \"%.*s\": images take podman on this node, and namespaces (--runtime "
                   "auto or podman)",
                   STR_ARG(volume));
}

/* ---- volumes that the API makes ---- */

/* Is a part of the volume mounted by any container? Parts do not follow what changes, as in Kubernetes. */
static bool has_parts(yyjson_val *pod, struct str volume) {
    static const char *const lists[] = {"spec.initContainers", "spec.containers"};

    for (int i = 0; i < 2; i++) {
        yyjson_arr_iter it = yyjson_arr_iter_with(json_path(pod, lists[i]));
        for (yyjson_val *c; (c = yyjson_arr_iter_next(&it));) {
            yyjson_arr_iter mounts = yyjson_arr_iter_with(json_get(c, STR("volumeMounts")));
            for (yyjson_val *m; (m = yyjson_arr_iter_next(&mounts));) {
                if (str_eq(json_str_at(m, "name"), volume) && json_str_at(m, "subPath").n) {
                    return true;
                }
            }
        }
    }
    return false;
}

static gid_t own_group(const struct pod_volumes_in *in) {
    return in->own_gid ? in->own_gid : in->gid;
}

static uint64_t *seen_at(const struct pod_volumes_in *in, size_t i) {
    struct pod_volumes_seen *s = in->seen;

    return s && i < s->n ? &s->v[i] : NULL;
}

/* All of a pod's are written in one turn of the loop: so many files of one volume, and not more of several. */
static int count_files(const struct pod_volumes_in *in, const struct payload *p, struct err *err) {
    if (in->made == NULL) {
        return 0;
    }
    *in->made += p->files.n;
    return *in->made > PAYLOAD_FILES_MAX
               ? err_set(
                     err, ERR_INVALID,
                     "volumes of ConfigMaps, Secrets and the like with more than %d files together",
                     PAYLOAD_FILES_MAX)
               : 0;
}

/* One volume, or the account's (v NULL), which is number i. */
static int make_made(const struct pod_volumes_in *in, struct arena *a, yyjson_val *v, size_t i,
                     enum pod_volumes_step step, struct err *err) {
    struct str name = v ? json_str_at(v, "name") : STR(POD_ACCOUNT_VOLUME);
    struct payload p = {0};
    uint64_t *seen = seen_at(in, i);
    char text[256], dir[PATH_LEN];
    int code = v ? pod_made_read(in->env, v, a, &p, err) : pod_account_read(in->env, a, &p, err);

    code = code ? code : count_files(in, &p, err);
    if (code == 0 && (!str_copy(name, text, sizeof(text)) || path_join(dir, in->dir, text, err))) {
        code = err_set(err, ERR_INVALID, "volume name \"%.*s\"", STR_ARG(name));
    }
    if (code == 0 && step == POD_VOLUMES_ANEW) {
        code = dir_remove(dir, err);
        code = code ? code : dir_make(dir, 0755, err);
    }
    uint64_t hash = payload_hash(&p);
    bool same = step == POD_VOLUMES_LOOK || (step == POD_VOLUMES_CHANGED && seen && *seen == hash);
    if (code == 0 && !same) {
        code = payload_store(&p, dir, (struct payload_owner){in->uid, own_group(in)},
                             v && has_parts(in->env->pod, name), err);
        if (code == 0 && seen) {
            *seen = hash;
        }
    }
    payload_release(&p);
    return code;
}

static bool has_account(const struct pod_volumes_in *in) {
    return !in->no_mounts && pod_account_wanted(in->env);
}

bool pod_volumes_made(const struct pod_volumes_in *in) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(in->env->pod, "spec.volumes"));

    for (yyjson_val *v; (v = yyjson_arr_iter_next(&it));) {
        if (pod_made_is(v)) {
            return true;
        }
    }
    return has_account(in);
}

int pod_volumes_follow(const struct pod_volumes_in *in, bool store, struct arena *a,
                       struct err *err) {
    enum pod_volumes_step step = store ? POD_VOLUMES_CHANGED : POD_VOLUMES_LOOK;
    yyjson_val *list = json_path(in->env->pod, "spec.volumes"), *v;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    int code = 0, one;

    for (size_t i = 0; (v = yyjson_arr_iter_next(&it)); i++) {
        one = pod_made_is(v) ? make_made(in, a, v, i, step, err) : 0;
        code = code ? code : one; /* one that lacks its source does not hold up the others */
    }
    one = has_account(in) ? make_made(in, a, NULL, yyjson_arr_size(list), step, err) : 0;
    return code ? code : one;
}

/* ---- all volumes ---- */

static int make_empty(const struct pod_volumes_in *in, const char *dir, struct err *err) {
    int code = dir_make(dir, 0755, err);

    bool given = in->uid && lchown(dir, in->uid, own_group(in)) == 0 &&
                 (in->own_gid == 0 || chmod(dir, SHARED) == 0);
    return code == 0 && in->uid && !given
               ? err_sys(err, errno, "%s cannot be given to user %u", dir, (unsigned)in->uid)
               : code;
}

static int make_volume(const struct pod_volumes_in *in, struct arena *a, yyjson_val *v, size_t i,
                       struct err *err) {
    char dir[PATH_LEN], name[256], real[PATH_MAX];
    yyjson_val *s;

    if (!path_plain(json_str_at(v, "name")) ||
        !str_copy(json_str_at(v, "name"), name, sizeof(name)) ||
        path_join(dir, in->dir, name, err)) {
        return err_set(err, ERR_INVALID, "volume name \"%.*s\"", STR_ARG(json_str_at(v, "name")));
    }
    if ((s = json_get(v, STR("hostPath")))) {
        return host_path(in, s, real, err);
    }
    if ((s = json_get(v, STR("persistentVolumeClaim")))) {
        struct claim_place place;
        return claim_place(in, s, &place, err);
    }
    if (json_get(v, STR("image"))) {
        struct str root;
        return image_place(in, str_of(name), &root, err);
    }
    if (pod_made_is(v)) {
        return make_made(in, a, v, i, POD_VOLUMES_ANEW, err);
    }
    if (json_get(v, STR("emptyDir")) || yyjson_obj_size(v) == 1) {
        return make_empty(in, dir, err);
    }
    return err_set(err, ERR_INVALID, "volume \"%s\": this kind of volume is not served", name);
}

int pod_volumes_make(const struct pod_volumes_in *in, struct arena *a, struct err *err) {
    yyjson_val *list = json_path(in->env->pod, "spec.volumes"), *v;
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    size_t n = yyjson_arr_size(list);
    int code = n || has_account(in) ? dir_make(in->dir, 0755, err) : 0;

    for (size_t i = 0; code == 0 && (v = yyjson_arr_iter_next(&it)); i++) {
        code = make_volume(in, a, v, i, err);
    }
    return code || !has_account(in) ? code : make_made(in, a, NULL, n, POD_VOLUMES_ANEW, err);
}

static yyjson_val *volume_named(yyjson_val *pod, struct str name) {
    yyjson_arr_iter it;
    yyjson_val *v;

    yyjson_arr_iter_init(json_path(pod, "spec.volumes"), &it);
    while ((v = yyjson_arr_iter_next(&it))) {
        if (str_eq(json_str_at(v, "name"), name)) {
            return v;
        }
    }
    return NULL;
}

/* "/a/b" without "." or ".." or doubled slashes, not the root itself. */
static bool good_target(struct str path) {
    struct str rest = str_skip(path, 1), part;

    if (path.n < 2 || path.p[0] != '/') {
        return false;
    }
    while (str_next(&rest, '/', &part)) {
        if (!path_plain(part)) {
            return false;
        }
    }
    return path.p[path.n - 1] != '/';
}

/* The part of an emptyDir or of a claim that a container wants is made when it is missing, for the project. By
 * descriptor: what lies below is the pods', who may have put a link there. */
static int make_sub_path(const struct pod_volumes_in *in, struct str volume, struct str sub,
                         mode_t mode, struct err *err) {
    char path[PATH_LEN], below[PATH_MAX];
    int dir = -1, fd = -1;

    if (str_copy(volume, below, sizeof(below))) {
        dir = beneath_root(below, O_RDONLY | O_DIRECTORY);
    }
    if (dir != -1 && str_copy(sub, path, sizeof(path))) {
        fd = beneath_make(dir, path, mode, in->uid, in->gid);
    }
    int code = fd != -1 ? 0 : err_sys(err, errno, "subPath \"%.*s\"", STR_ARG(sub));
    if (dir != -1) {
        close(dir);
    }
    if (fd != -1) {
        close(fd);
    }
    return code;
}

static int add_mount(const struct pod_volumes_in *in, yyjson_val *m, struct arena *a, bool first,
                     struct buf *out, struct err *err) {
    struct str name = json_str_at(m, "name"), target = json_str_at(m, "mountPath"),
               sub = json_str_at(m, "subPath"), source, rest = sub, part, root = {NULL, 0};
    yyjson_val *v = volume_named(in->env->pod, name), *host = json_get(v, STR("hostPath"));
    yyjson_val *claim = json_get(v, STR("persistentVolumeClaim"));
    char real[PATH_MAX];
    struct claim_place place = {.read_only = false};
    int code;

    while (target.n > 1 && target.p[target.n - 1] == '/') {
        target.n--;
    }
    if (!str_empty(json_str_at(m, "subPathExpr"))) {
        return err_set(err, ERR_INVALID, "volumeMount \"%.*s\": subPathExpr is not served",
                       STR_ARG(name));
    }
    if (v == NULL || !good_target(target)) {
        return err_set(err, ERR_INVALID, "volumeMount \"%.*s\" at \"%.*s\" is not possible",
                       STR_ARG(name), STR_ARG(target));
    }
    if (host && (code = host_path(in, host, real, err))) {
        return code;
    }
    if (claim && (code = claim_place(in, claim, &place, err))) {
        return code;
    }
    bool image = json_get(v, STR("image")) != NULL;
    if (image && (code = image_place(in, name, &root, err))) {
        return code;
    }
    source = host    ? arena_str(a, str_of(real))
             : claim ? arena_str(a, str_of(place.path))
             : image ? root
                     : arena_f(a, "%s/%.*s", in->dir, STR_ARG(name));
    while (str_next(&rest, '/', &part)) {
        if (!path_plain(part)) {
            return err_set(err, ERR_INVALID, "subPath \"%.*s\" is not allowed", STR_ARG(sub));
        }
    }
    if (!str_empty(sub)) {
        bool made = json_get(v, STR("emptyDir")) || (place.own && !place.read_only);
        if (made && (code = make_sub_path(in, source, sub, claim ? 02770 : 0755, err))) {
            return code;
        }
        source = pod_made_is(v)
                     ? arena_f(a, "%.*s/" PAYLOAD_FIRST "/%.*s", STR_ARG(source), STR_ARG(sub))
                     : arena_f(a, "%.*s/%.*s", STR_ARG(source), STR_ARG(sub));
    }
    buf_c(out, first ? "{\"source\":" : ",{\"source\":");
    buf_json(out, source);
    buf_c(out, ",\"target\":");
    buf_json(out, target);
    bool read_only =
        pod_made_is(v) || image || place.read_only || json_bool_at(m, "readOnly", false);
    buf_c(out, read_only ? ",\"readOnly\":true}" : "}");
    return 0;
}

int pod_volumes_mounts(const struct pod_volumes_in *in, yyjson_val *container, struct arena *a,
                       struct buf *out, struct err *err) {
    yyjson_arr_iter it;
    yyjson_val *m;
    bool first = true;
    int code = 0;

    buf_c(out, "\"mounts\":[");
    yyjson_arr_iter_init(json_get(container, STR("volumeMounts")), &it);
    while (code == 0 && (m = yyjson_arr_iter_next(&it))) {
        code = add_mount(in, m, a, first, out, err);
        first = false;
    }
    if (!in->no_mounts && pod_account_mounted(in->env, container)) {
        buf_c(out, first ? "{\"source\":" : ",{\"source\":");
        buf_json(out, arena_f(a, "%s/" POD_ACCOUNT_VOLUME, in->dir));
        buf_c(out, ",\"target\":\"" POD_ACCOUNT_PATH "\",\"readOnly\":true}");
    }
    buf_ch(out, ']');
    return code;
}

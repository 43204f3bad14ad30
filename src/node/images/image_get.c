/* image_get: see image_get.h. */
#include "node/images/image_get.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/images/image_files.h"
#include "node/images/image_hosts.h"
#include "node/images/image_reach.h"
#include "node/images/image_user.h"
#include "node/images/podman.h"
#include "node/node.h"

#define PART ".part-"          /* a folder that is not whole yet */
#define LENDER "berth-unpack-" /* a container that is never started */

enum { OUT_MOST = 16 << 20, ID_SHORT = 12 };

/* ---- one at a time may remove, many may bring ---- */

static int lock_store(const char *dir, int how, int *ret, struct err *err) {
    char path[PATH_LEN];
    int code = dir_make(dir, 0700, err);

    code = code ? code : path_join(path, dir, "lock", err);
    if (code) {
        return code;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd == -1) {
        return err_sys(err, errno, "%s", path);
    }
    if (flock(fd, how) == -1) {
        close(fd);
        return err_set(err, ERR_CONFLICT, "an image is being brought or removed: try again");
    }
    *ret = fd;
    return 0;
}

/* Its name has the number of the process that made it, perhaps for another data folder. */
static bool is_dead(struct str name) {
    struct str pid, rest;
    int64_t n;

    str_cut(str_skip(name, STR(LENDER).n), '-', &pid, &rest);
    return str_starts(name, STR(LENDER)) && str_to_i64(pid, &n) && n > 0 && n <= INT32_MAX &&
           kill((pid_t)n, 0) == -1 && errno == ESRCH;
}

/* Containers that only lend their files, of a process that was killed. */
static void remove_lenders(void) {
    const char *list[] = {"ps", "--all", "--format={{.Names}}", "--filter=name=^" LENDER, NULL};
    const struct podman_call ps = {.argv = list};
    struct str rest, line;
    char name[sizeof(LENDER) + 40];
    struct buf out, ignored;

    buf_init(&out, OUT_MOST);
    buf_init(&ignored, OUT_MOST);
    rest = podman_run(&ps, &out, NULL) == 0 ? buf_view(&out) : STR("");
    while (str_next(&rest, '\n', &line)) {
        if (is_dead(line) && str_copy(line, name, sizeof(name))) {
            const char *remove[] = {"rm", "--force", name, NULL};
            const struct podman_call rm = {.argv = remove};
            podman_run(&rm, &ignored, NULL);
        }
    }
    buf_release(&out);
    buf_release(&ignored);
}

/* What was being unpacked when its process was killed. Only while nobody else brings anything. */
static void sweep(const char *dir) {
    char path[PATH_LEN];
    struct dirent *e;
    bool any = false;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        if (str_starts(str_of(e->d_name), STR(PART)) &&
            path_join(path, dir, e->d_name, NULL) == 0) {
            dir_remove(path, NULL);
            any = true;
        }
    }
    if (d) {
        closedir(d);
    }
    if (any) {
        remove_lenders();
    }
}

/* Whoever is alone here clears up first. */
static int lock_shared(const char *dir, int *ret, struct err *err) {
    if (lock_store(dir, LOCK_EX | LOCK_NB, ret, NULL)) {
        return lock_store(dir, LOCK_SH, ret, err);
    }
    sweep(dir);
    return flock(*ret, LOCK_SH) == -1 ? err_sys(err, errno, "%s", dir) : 0;
}

/* ---- from podman's store to ours ---- */

static int inspect(struct str id, struct arena *a, yyjson_val **ret, struct err *err) {
    const char *argv[] = {"image", "inspect", arena_str(a, id).p, NULL};
    const struct podman_call c = {.argv = argv};
    yyjson_doc *doc;
    struct buf out;

    buf_init(&out, OUT_MOST);
    int code = podman_run(&c, &out, err);
    code = code ? code : json_parse(a, buf_view(&out), &doc, err);
    buf_release(&out);
    if (code == 0) {
        *ret = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    }
    return code;
}

static int write_meta(const char *folder, const struct image *i, struct err *err) {
    struct buf b;

    buf_init(&b, OUT_MOST);
    buf_f(&b, "{\"uid\":%u,\"gid\":%u,\"home\":", (unsigned)i->uid, (unsigned)i->gid);
    buf_json(&b, i->home);
    buf_f(&b, ",\"bytes\":%lld,\"ours\":%s,\"config\":", (long long)i->bytes,
          i->ours ? "true" : "false");
    if (i->config) {
        json_write(&b, i->config);
    } else {
        buf_c(&b, "{}");
    }
    buf_c(&b, "}\n");
    int code = buf_ok(&b) ? err_set(err, ERR_NOMEM, "no memory")
                          : file_store(folder, "image.json", buf_view(&b), 0600, err);
    buf_release(&b);
    return code;
}

static int export_to(struct str id, const char *root, struct arena *a, struct err *err) {
    const char *name =
        arena_f(a, LENDER "%d-%.*s", (int)getpid(), STR_ARG(str_head(id, ID_SHORT))).p;
    const char *make[] = {"create",
                          "--network=none",
                          "--image-volume=ignore",
                          "--entrypoint=[\"/x\"]",
                          "--name",
                          name,
                          arena_str(a, id).p,
                          NULL};
    const char *end[] = {"rm", "--force", "--ignore", name, NULL};
    const struct podman_call create = {.argv = make}, rm = {.argv = end};
    struct buf out;

    buf_init(&out, OUT_MOST);
    int code = podman_run(&create, &out, err);
    code = code ? code : podman_export(name, root, err);
    podman_run(&rm, &out, NULL);
    buf_release(&out);
    return code;
}

/* Puts it together beside, and moves it to its place when it is whole. */
static int unpack(const char *dir, struct str id, bool ours, struct arena *a, struct err *err) {
    char own[PATH_LEN], part[PATH_LEN], root[PATH_LEN];
    struct image_user user;
    yyjson_val *v = NULL;

    int code = inspect(id, a, &v, err);
    code = code ? code : path_join(own, dir, arena_str(a, id).p, err);
    code = code ? code : path_join(part, dir, arena_f(a, PART "%d", (int)getpid()).p, err);
    code = code ? code : path_join(root, part, "root", err);
    code = code ? code : dir_remove(part, err);
    code = code ? code : dir_make(root, 0755, err);
    code = code ? code : export_to(id, root, a, err);
    code = code ? code : image_files_tame(root, err);
    code = code ? code : image_user_find(root, json_str_at(v, "Config.User"), &user, err);
    if (code == 0) {
        const struct image meta = {.config = json_get(v, STR("Config")),
                                   .uid = user.uid,
                                   .gid = user.gid,
                                   .home = str_of(user.home),
                                   .bytes = json_i64_at(v, "Size", 0),
                                   .ours = ours};
        code = write_meta(part, &meta, err);
    }
    if (code == 0 && rename(part, own) == -1 && errno != EEXIST && errno != ENOTEMPTY) {
        code = err_sys(err, errno, "%s", own);
    }
    dir_remove(part, NULL); /* what is left when it failed, or another was first */
    return code;
}

/* `ours`: podman has it because of us. A pod that waited may have been first to find what we have just loaded. */
static int bring(const char *dir, struct str id, bool ours, struct err *err) {
    char own[PATH_LEN];
    struct image i;
    struct arena a;
    int code = 0;

    arena_init(&a, 64 << 20);
    if (image_store_read(dir, id, &a, &i, NULL)) {
        code = unpack(dir, id, ours, &a, err);
    } else if (ours && !i.ours) {
        i.ours = true;
        code = path_join(own, dir, i.id, err);
        code = code ? code : write_meta(own, &i, err);
    }
    arena_release(&a);
    return code;
}

/* ---- one image by its name ---- */

struct wish {
    const char *dir, *ns, *name, *policy, *auth;
    bool if_reachable;
    const char *hosts; /* it may be pulled from; NULL: any */
    struct err err;
    char id[IMAGE_ID_MAX];
};

static void say(const char *what, struct str text) {
    printf("%s%s%.*s\n", what, text.n ? " " : "", STR_ARG(text));
    fflush(stdout);
}

static void on_line(void *ctx, struct str line) {
    say("note", line);
}

/* The id that podman has of it; false: none. */
static bool in_podman(struct wish *w) {
    const char *argv[] = {"image", "inspect", "--format={{.Id}}", w->name, NULL};
    const struct podman_call c = {.argv = argv};
    struct buf out;

    buf_init(&out, OUT_MOST);
    bool is =
        podman_run(&c, &out, NULL) == 0 && str_copy(str_trim(buf_view(&out)), w->id, sizeof(w->id));
    buf_release(&out);
    return is;
}

/* What the name means in our own store: 0 and its id, ERR_NOT_FOUND, or ERR_FORBIDDEN: it was pulled with
 * credentials that this namespace has not shown. What podman has without our knowing was put there by who administers
 * the machine. */
static int in_store(const struct wish *w, char ret_id[IMAGE_ID_MAX]) {
    struct image i;
    struct arena a;

    arena_init(&a, OUT_MOST);
    int code = image_store_find(w->dir, str_of(w->name), str_of(w->ns), &a, &i, NULL);
    if (code == 0) {
        str_copy(str_of(i.id), ret_id, IMAGE_ID_MAX);
    }
    arena_release(&a);
    return code;
}

static int pull(struct wish *w) {
    const char *argv[8] = {"pull"};
    const struct podman_call c = {.argv = argv, .line = on_line};
    char auth[PATH_LEN + 16], from[IMAGE_NAME_MAX + 16];
    size_t n = 1;
    struct buf out;

    if (w->auth[0] != '-') {
        snprintf(auth, sizeof(auth), "--authfile=%s", w->auth);
        argv[n++] = auth;
    }
    if (image_name_loopback(str_of(w->name))) { /* nobody else can answer there */
        argv[n++] = "--tls-verify=false";
    }
    /* Of a registry: hosts may have names that podman takes for other places ("dir:5000/x"). */
    snprintf(from, sizeof(from), "docker://%s", w->name);
    argv[n++] = from;
    buf_init(&out, OUT_MOST);
    int code = podman_run(&c, &out, &w->err);
    struct str id = str_trim(buf_view(&out));
    if (code == 0 && !str_copy(id, w->id, sizeof(w->id))) {
        code = err_set(&w->err, ERR_IO, "podman told no id of the image");
    }
    buf_release(&out);
    return code;
}

/* Fetched: for anyone when no credentials were shown, else for the namespace that had them. */
static int fetch(struct wish *w, const char **ret_end) {
    bool secret = w->auth[0] != '-';

    struct str host = image_name_host(str_of(w->name));
    *ret_end = "failed";
    if (image_hosts_allow(str_of(w->hosts ? w->hosts : ""), host, &w->err)) {
        *ret_end = w->if_reachable ? "unreachable" : "failed"; /* for this node it is nowhere */
        return ERR_FORBIDDEN;
    }
    if (w->if_reachable && image_reach(host, &w->err)) {
        *ret_end = "unreachable";
        return ERR_UNAVAILABLE;
    }
    say("pulling", STR(""));
    struct str name = str_of(w->name), whose = str_of(secret ? w->ns : "");
    int code = secret ? image_store_claim(w->dir, name, whose, &w->err) : 0;
    code = code ? code : pull(w);
    /* Named before it is unpacked, which takes its time: podman has it from now on. */
    code = code ? code : image_store_name(w->dir, name, str_of(w->id), whose, &w->err);
    code = code ? code : bring(w->dir, str_of(w->id), true, &w->err);
    if (code) {
        image_store_unclaim(w->dir, name);
    }
    *ret_end = code ? *ret_end : "pulled";
    return code;
}

/* podman knows it by more names than the one that it was fetched by: by its digest, as another tag. */
static enum image_owner owner(const struct wish *w) {
    return image_store_owner(w->dir, str_of(w->name), str_of(w->id), str_of(w->ns));
}

static int take(struct wish *w, const char **ret_end) {
    bool local = image_name_local(str_of(w->name)), never = strcmp(w->policy, "Never") == 0;
    bool always = strcmp(w->policy, "Always") == 0 && !local;
    enum image_owner whose;
    char id[IMAGE_ID_MAX];
    int known = in_store(w, id);

    *ret_end = "failed";
    if (!always && known != ERR_FORBIDDEN && in_podman(w) &&
        (whose = owner(w)) != IMAGE_OF_OTHERS) {
        /* Nobody has an image alone but by our pull, which may have been cut short. */
        int code = bring(w->dir, str_of(w->id), whose == IMAGE_OF_THIS, &w->err);
        code = code ? code
                    : image_store_name(w->dir, str_of(w->name), str_of(w->id),
                                       str_of(whose == IMAGE_OF_THIS ? w->ns : ""), &w->err);
        *ret_end = code ? *ret_end : "here";
        return code;
    }
    if (!always && known == 0) { /* podman was told to remove it, and may not be usable at all */
        memcpy(w->id, id, sizeof(id));
        *ret_end = "here";
        return 0;
    }
    if (never || local) {
        *ret_end = "absent";
        return 0;
    }
    return fetch(w, ret_end);
}

static void tell_end(struct wish *w, int code, const char *end) {
    char text[128];
    struct image i = {0};
    struct arena a;

    if (code) {
        say(end, str_of(w->err.text));
    } else if (w->id[0]) {
        arena_init(&a, OUT_MOST);
        image_store_read(w->dir, str_of(w->id), &a, &i, NULL);
        snprintf(text, sizeof(text), "%s %lld", w->id, (long long)i.bytes);
        say(end, str_of(text));
        arena_release(&a);
    } else {
        say(end, STR(""));
    }
}

int image_get_main(int argc, char **argv) {
    const char *end = "failed";
    int lock = -1;

    if (argc != 7 && argc != 8) {
        return 2;
    }
    struct wish w = {.dir = argv[1],
                     .ns = argv[2],
                     .name = argv[3],
                     .policy = argv[4],
                     .auth = argv[5],
                     .if_reachable = strcmp(argv[6], "if-reachable") == 0,
                     .hosts = argc == 8 ? argv[7] : NULL};
    int code = lock_shared(w.dir, &lock, &w.err);
    code = code ? code : take(&w, &end);
    tell_end(&w, code, end);
    return code != 0;
}

/* ---- archives ---- */

struct archive_load {
    const char *dir;
    void (*each)(void *ctx, struct str name, struct str id);
    void *ctx;
};

static int load_one(const struct archive_load *l, struct str said, struct err *err) {
    char full[IMAGE_NAME_MAX];
    struct wish w = {.dir = l->dir};
    int code = image_name_full(said, full, err);

    w.name = full;
    if (code == 0 && !in_podman(&w)) {
        code = err_set(err, ERR_NOT_FOUND, "podman loaded %s and has it no more", full);
    }
    code = code ? code : bring(l->dir, str_of(w.id), true, err);
    code = code ? code : image_store_name(l->dir, str_of(full), str_of(w.id), STR(""), err);
    if (code == 0) {
        l->each(l->ctx, str_of(full), str_of(w.id));
    }
    return code;
}

/* podman says "Loaded image: NAME", or "Loaded image(s): NAME,NAME". */
static int load_all(const struct archive_load *l, struct str said, struct err *err) {
    struct str line, list, name;
    size_t n = 0;
    int code = 0;

    while (code == 0 && str_next(&said, '\n', &line)) {
        if (!str_starts(line, STR("Loaded image"))) {
            continue;
        }
        ptrdiff_t at = str_find(line, ' ');
        list = str_skip(line, (size_t)at + 1);
        at = str_find(list, ' ');
        list = at >= 0 ? str_skip(list, (size_t)at + 1) : list;
        while (code == 0 && str_next(&list, ',', &name)) {
            code = load_one(l, str_trim(name), err);
            n++;
        }
    }
    return code || n ? code
                     : err_set(err, ERR_INVALID,
                               "the archive names no image: give it one (podman save NAME)");
}

int image_get_load(const char *dir, const char *file,
                   void (*each)(void *ctx, struct str name, struct str id), void *ctx,
                   struct err *err) {
    const char *argv[] = {"load", "--quiet", "--input", file, NULL};
    const struct podman_call c = {.argv = argv};
    const struct archive_load l = {dir, each, ctx};
    struct buf out;
    int lock = -1, code = lock_shared(dir, &lock, err);

    buf_init(&out, OUT_MOST);
    code = code ? code : podman_run(&c, &out, err);
    code = code ? code : load_all(&l, buf_view(&out), err);
    buf_release(&out);
    if (lock != -1) {
        close(lock);
    }
    return code;
}

/* ---- what nobody uses ---- */

/* Takes an image from podman's store; 0 as well where podman does not have it. */
static int unload(struct str id, struct arena *a, struct err *err) {
    const char *remove[] = {"image", "rm", "--force", arena_str(a, id).p, NULL};
    const char *list[] = {"images", "--all", "--quiet", "--no-trunc", NULL};
    const struct podman_call rm = {.argv = remove}, images = {.argv = list};
    struct err why = {0};
    struct buf out;

    buf_init(&out, OUT_MOST);
    int code = podman_run(&rm, &out, &why);
    if (code) {
        buf_reset(&out);
        bool gone = podman_run(&images, &out, NULL) == 0 && buf_ok(&out) == 0 &&
                    !str_contains(buf_view(&out), id);
        code = gone ? 0 : err_set(err, code, "image %.12s stays: %s", id.p, why.text);
    }
    buf_release(&out);
    return code;
}

/* From podman first: an image that podman has and no name here speaks of is for anyone (image_store_owner). */
static int prune_one(const char *dir, const struct image_entry *e, struct arena *a,
                     struct err *err) {
    struct image i = {0};

    int code = image_store_read(dir, e->id, a, &i, err);
    code = code == 0 && i.ours ? unload(e->id, a, err) : code;
    return code ? code : image_store_remove(dir, e->id, err);
}

/* Names of one image go together: the one that was asked for last decides. */
static bool is_recent(const struct image_entry *v, size_t n, struct str id, int64_t before_ns) {
    for (size_t i = 0; i < n; i++) {
        if (str_eq(v[i].id, id) && v[i].used_ns >= before_ns) {
            return true;
        }
    }
    return false;
}

int image_get_prune(const char *dir, const char *pods_dir, int64_t before_ns,
                    void (*each)(void *ctx, const struct image_entry *e), void *ctx,
                    struct err *err) {
    struct image_entry *v;
    struct image i;
    struct arena a;
    size_t n = 0;
    int kept = 0;
    int lock = -1, code = lock_store(dir, LOCK_EX | LOCK_NB, &lock, err);

    arena_init(&a, 256 << 20);
    code = code ? code : image_store_list(dir, &a, &v, &n, err);
    for (size_t k = 0; code == 0 && k < n; k++) {
        int one = 0;
        if (is_recent(v, n, v[k].id, before_ns) || image_store_used(pods_dir, v[k].id)) {
            continue;
        }
        if (image_store_read(dir, v[k].id, &a, &i, NULL) == 0) { /* not by another of its names */
            one = prune_one(dir, &v[k], &a, err);
        }
        if (one == 0) {
            each(ctx, &v[k]);
        }
        kept = one ? one : kept; /* the others go all the same */
    }
    arena_release(&a);
    if (lock != -1) {
        close(lock);
    }
    return code ? code : kept;
}

/* image_store: see image_store.h. */
#include "node/images/image_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

enum { IMAGES_MAX = 4096, JSON_MOST = 8 << 20 };

static bool is_id(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) {
            return false;
        }
    }
    return s.n == IMAGE_ID_MAX - 1;
}

/* A name as that of a file: it has none of the letters that stand for those which a file cannot have. */
static void file_of(struct str full, char out[IMAGE_NAME_MAX]) {
    size_t n = full.n < IMAGE_NAME_MAX - 1 ? full.n : IMAGE_NAME_MAX - 1;

    for (size_t i = 0; i < n; i++) {
        char c = full.p[i];
        out[i] = c == '/' ? '+' : c == ':' ? '=' : c == '@' ? '%' : c;
    }
    out[n] = 0;
}

static int read_json(const char *dir, const char *name, struct arena *a, yyjson_val **ret,
                     struct err *err) {
    struct str text;
    yyjson_doc *doc;
    int code = file_load(dir, name, a, &text, err);

    code = code ? code : json_parse(a, text, &doc, err);
    if (code == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return code;
}

static int read_name(const char *dir, struct str full, struct arena *a, yyjson_val **ret,
                     struct err *err) {
    char names[PATH_LEN], file[IMAGE_NAME_MAX];
    int code = path_join(names, dir, "names", err);

    file_of(full, file);
    return code ? code : read_json(names, file, a, ret, err);
}

int image_store_read(const char *dir, struct str id, struct arena *a, struct image *ret,
                     struct err *err) {
    char own[PATH_LEN], text[IMAGE_ID_MAX];
    struct image i = {0};
    yyjson_val *v;

    if (!is_id(id)) {
        return err_set(err, ERR_INVALID, "\"%.*s\" is no id of an image",
                       STR_ARG(str_head(id, 80)));
    }
    str_copy(id, text, sizeof(text));
    str_copy(id, i.id, sizeof(i.id));
    int code = path_join(own, dir, text, err);
    code = code ? code : path_join(i.root, own, "root", err);
    code = code ? code : read_json(own, "image.json", a, &v, err);
    if (code) {
        return code;
    }
    i.config = json_get(v, STR("config"));
    i.uid = (uid_t)json_i64_at(v, "uid", 0);
    i.gid = (gid_t)json_i64_at(v, "gid", 0);
    i.home = json_str_at(v, "home");
    i.bytes = json_i64_at(v, "bytes", 0);
    i.ours = json_bool_at(v, "ours", false);
    *ret = i;
    return 0;
}

static bool is_for(yyjson_val *name, struct str ns) {
    yyjson_arr_iter it;
    yyjson_val *e;

    if (json_bool_at(name, "anyone", false)) {
        return true;
    }
    yyjson_arr_iter_init(json_get(name, STR("namespaces")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        if (str_eq(json_str(e), ns)) {
            return true;
        }
    }
    return false;
}

/* When it was asked for last is the time of its name's file. */
static void touch(const char *dir, struct str full) {
    char names[PATH_LEN], file[IMAGE_NAME_MAX], path[PATH_LEN];

    file_of(full, file);
    if (path_join(names, dir, "names", NULL) == 0 && path_join(path, names, file, NULL) == 0) {
        utimensat(AT_FDCWD, path, NULL, 0);
    }
}

int image_store_find(const char *dir, struct str full, struct str ns, struct arena *a,
                     struct image *ret, struct err *err) {
    yyjson_val *v;
    int code = read_name(dir, full, a, &v, err);

    if (code) {
        return code;
    }
    if (!is_for(v, ns)) {
        return err_set(err, ERR_FORBIDDEN,
                       "image %.*s was pulled with credentials that namespace %.*s does not have",
                       STR_ARG(full), STR_ARG(ns));
    }
    code = image_store_read(dir, json_str_at(v, "id"), a, ret, err);
    if (code == 0) {
        touch(dir, full);
    }
    return code;
}

/* ---- names ---- */

static void write_namespaces(struct buf *b, yyjson_val *old, struct str ns) {
    yyjson_arr_iter it;
    yyjson_val *e;
    bool first = true;

    yyjson_arr_iter_init(json_get(old, STR("namespaces")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        if (!str_eq(json_str(e), ns)) {
            buf_c(b, first ? "" : ",");
            buf_json(b, json_str(e));
            first = false;
        }
    }
    if (ns.n) {
        buf_c(b, first ? "" : ",");
        buf_json(b, ns);
    }
}

int image_store_name(const char *dir, struct str full, struct str id, struct str ns,
                     struct err *err) {
    char names[PATH_LEN], file[IMAGE_NAME_MAX];
    yyjson_val *old = NULL;
    struct arena a;
    struct buf b;

    arena_init(&a, JSON_MOST);
    buf_init(&b, JSON_MOST);
    file_of(full, file);
    int code = path_join(names, dir, "names", err);
    code = code ? code : dir_make(names, 0700, err);
    if (code == 0 &&
        (read_name(dir, full, &a, &old, NULL) || !str_eq(json_str_at(old, "id"), id))) {
        old = NULL; /* it meant another image: whose that was counts no more */
    }
    if (code == 0) {
        buf_c(&b, "{\"name\":");
        buf_json(&b, full);
        buf_c(&b, ",\"id\":");
        buf_json(&b, id);
        buf_f(&b, ",\"anyone\":%s,\"namespaces\":[",
              ns.n == 0 || json_bool_at(old, "anyone", false) ? "true" : "false");
        write_namespaces(&b, old, ns);
        buf_c(&b, "]}\n");
        code = buf_ok(&b) ? err_set(err, ERR_NOMEM, "no memory")
                          : file_store(names, file, buf_view(&b), 0600, err);
    }
    buf_release(&b);
    arena_release(&a);
    return code;
}

int image_store_claim(const char *dir, struct str full, struct str ns, struct err *err) {
    struct arena a;
    yyjson_val *v;

    arena_init(&a, JSON_MOST);
    bool known = read_name(dir, full, &a, &v, NULL) == 0;
    arena_release(&a);
    return known ? 0 : image_store_name(dir, full, STR(""), ns, err);
}

void image_store_unclaim(const char *dir, struct str full) {
    char names[PATH_LEN], file[IMAGE_NAME_MAX], path[PATH_LEN];
    struct arena a;
    yyjson_val *v;

    arena_init(&a, JSON_MOST);
    file_of(full, file);
    if (read_name(dir, full, &a, &v, NULL) == 0 && json_str_at(v, "id").n == 0 &&
        path_join(names, dir, "names", NULL) == 0 && path_join(path, names, file, NULL) == 0) {
        unlink(path);
    }
    arena_release(&a);
}

/* ---- all of them ---- */

struct image_listing {
    const char *dir, *names;
    struct arena *a;
    struct image_entry *v;
    size_t n;
};

static void add_name(void *ctx, const char *file) {
    struct image_listing *l = ctx;
    struct image_entry e = {0};
    struct image i = {0};
    yyjson_val *v;
    struct stat st;
    char path[PATH_LEN];

    if (read_json(l->names, file, l->a, &v, NULL) || l->n == IMAGES_MAX) {
        return;
    }
    e.name = json_str_at(v, "name");
    e.id = json_str_at(v, "id");
    e.anyone = json_bool_at(v, "anyone", false);
    e.namespaces = json_get(v, STR("namespaces"));
    if (path_join(path, l->names, file, NULL) == 0 && stat(path, &st) == 0) {
        e.used_ns = st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec;
    }
    if (image_store_read(l->dir, e.id, l->a, &i, NULL) == 0) {
        e.bytes = i.bytes;
        l->v[l->n++] = e;
    }
}

static void add_unnamed(void *ctx, const char *folder) {
    struct image_listing *l = ctx;
    struct image i;
    struct str id = str_of(folder);

    for (size_t k = 0; k < l->n; k++) {
        if (str_eq(l->v[k].id, id)) {
            return;
        }
    }
    if (l->n < IMAGES_MAX && is_id(id) && image_store_read(l->dir, id, l->a, &i, NULL) == 0) {
        l->v[l->n++] = (struct image_entry){.id = arena_str(l->a, id), .bytes = i.bytes};
    }
}

static void each_in(const char *path, void *ctx, void (*each)(void *ctx, const char *name)) {
    struct dirent *e;
    DIR *d = opendir(path);

    while (d && (e = readdir(d))) {
        if (e->d_name[0] != '.') {
            each(ctx, e->d_name);
        }
    }
    if (d) {
        closedir(d);
    }
}

/* ---- whose is what podman has ---- */

struct owner_search {
    const char *names;
    struct str full, id, ns;
    bool by_id, by_name;             /* some name says something */
    enum image_owner of_id, of_name; /* the widest that it says */
};

static void widen(bool *known, enum image_owner *of, enum image_owner one) {
    *of = !*known || one < *of ? one : *of;
    *known = true;
}

static void ask_name(void *ctx, const char *file) {
    struct owner_search *s = ctx;
    struct arena a;
    yyjson_val *v;

    arena_init(&a, JSON_MOST);
    if (read_json(s->names, file, &a, &v, NULL) == 0) {
        enum image_owner one = json_bool_at(v, "anyone", false) ? IMAGE_OF_ANYONE
                               : is_for(v, s->ns)               ? IMAGE_OF_THIS
                                                                : IMAGE_OF_OTHERS;
        if (str_eq(json_str_at(v, "id"), s->id)) {
            widen(&s->by_id, &s->of_id, one);
        }
        if (str_eq(json_str_at(v, "name"), s->full)) {
            widen(&s->by_name, &s->of_name, one);
        }
    }
    arena_release(&a);
}

enum image_owner image_store_owner(const char *dir, struct str full, struct str id, struct str ns) {
    char names[PATH_LEN];
    struct owner_search s = {.names = names, .full = full, .id = id, .ns = ns};

    if (path_join(names, dir, "names", NULL)) {
        return IMAGE_OF_OTHERS;
    }
    each_in(names, &s, ask_name);
    return s.by_id ? s.of_id : s.by_name ? s.of_name : IMAGE_OF_ANYONE;
}

int image_store_list(const char *dir, struct arena *a, struct image_entry **ret, size_t *ret_n,
                     struct err *err) {
    char names[PATH_LEN];
    struct image_listing l = {.dir = dir, .names = names, .a = a};
    int code = path_join(names, dir, "names", err);

    l.v = code ? NULL : ARENA_ARRAY(a, struct image_entry, IMAGES_MAX);
    if (l.v == NULL) {
        return code ? code : err_set(err, ERR_NOMEM, "no memory");
    }
    each_in(names, &l, add_name);
    each_in(dir, &l, add_unnamed);
    *ret = l.v;
    *ret_n = l.n;
    return 0;
}

/* Its specification names the image's folder, and it has not told its end. */
static bool uses(const char *pod, struct str id) {
    struct str spec, state;
    struct arena a;
    yyjson_doc *doc;

    arena_init(&a, 4 * FILE_READ_MAX);
    bool is = file_load(pod, "spec.json", &a, &spec, NULL) == 0 && str_contains(spec, id);
    if (is && file_load(pod, "state.json", &a, &state, NULL) == 0 &&
        json_parse(&a, state, &doc, NULL) == 0) {
        struct str phase = json_str_at(yyjson_doc_get_root(doc), "phase");
        is = !str_is(phase, "Succeeded") && !str_is(phase, "Failed");
    }
    arena_release(&a);
    return is;
}

bool image_store_used(const char *pods_dir, struct str id) {
    char pod[PATH_LEN];
    struct dirent *e;
    bool used = false;
    DIR *d = opendir(pods_dir);

    while (d && !used && (e = readdir(d))) {
        used =
            e->d_name[0] != '.' && path_join(pod, pods_dir, e->d_name, NULL) == 0 && uses(pod, id);
    }
    if (d) {
        closedir(d);
    }
    return used;
}

int image_store_remove(const char *dir, struct str id, struct err *err) {
    char own[PATH_LEN], path[PATH_LEN], names[PATH_LEN], file[IMAGE_NAME_MAX], text[IMAGE_ID_MAX];
    struct image_entry *v;
    struct arena a;
    size_t n;

    arena_init(&a, 4 * JSON_MOST);
    int code = is_id(id) ? image_store_list(dir, &a, &v, &n, err)
                         : err_set(err, ERR_INVALID, "no id of an image");
    code = code ? code : path_join(names, dir, "names", err);
    for (size_t i = 0; code == 0 && i < n; i++) {
        file_of(v[i].name, file);
        if (v[i].name.n && str_eq(v[i].id, id) && path_join(path, names, file, NULL) == 0) {
            unlink(path);
        }
    }
    if (code == 0) {
        str_copy(id, text, sizeof(text));
        code = path_join(own, dir, text, err);
        code = code ? code : path_join(path, own, "image.json", err);
    }
    if (code == 0) {
        unlink(path); /* first: what is not complete is nobody's */
        code = dir_remove(own, err);
    }
    arena_release(&a);
    return code;
}

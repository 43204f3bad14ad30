/* cdi: see cdi.h. */
#include "node/gpu/cdi.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "node/files/files.h"
#include "wire/yaml.h"

struct cdi_reading {
    struct arena *a;
    struct cdi_file *v;
    size_t n;
};

/* "/a/b": nothing on the way that leads up, or to nowhere. */
static bool good_path(struct str path) {
    struct str rest = str_skip(path, 1), part;
    bool good = path.n > 1 && path.n < PATH_LEN && path.p[0] == '/';

    while (good && str_next(&rest, '/', &part)) {
        good = path_plain(part);
    }
    return good;
}

static struct str folder_of(struct str path) {
    ptrdiff_t at = str_find_last(path, '/');

    return str_head(path, at > 0 ? (size_t)at : 1);
}

static bool is_library(struct str path) {
    struct str name = str_skip(path, (size_t)str_find_last(path, '/') + 1);

    return str_starts(name, STR("lib")) && str_contains(name, STR(".so"));
}

static void add(struct cdi_reading *r, const char *real, struct str target) {
    for (size_t i = 0; i < r->n; i++) {
        if (str_eq(r->v[i].target, target)) {
            return;
        }
    }
    if (r->n < CDI_FILES_MAX) {
        r->v[r->n++] = (struct cdi_file){arena_str(r->a, str_of(real)), arena_str(r->a, target)};
    }
}

/* Links beside the library that lead to it, as names beside its target. */
static void add_names(struct cdi_reading *r, const char *dir, const char *real, struct str target) {
    char path[PATH_LEN], to[PATH_MAX];
    struct str folder = folder_of(target);
    struct dirent *e;
    struct stat st;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        if (str_starts(str_of(e->d_name), STR("lib")) &&
            path_join(path, dir, e->d_name, NULL) == 0 && lstat(path, &st) == 0 &&
            S_ISLNK(st.st_mode) && realpath(path, to) && strcmp(to, real) == 0) {
            add(r, real, arena_f(r->a, "%.*s/%s", STR_ARG(folder), e->d_name));
        }
    }
    if (d) {
        closedir(d);
    }
}

static void read_mount(struct cdi_reading *r, yyjson_val *m) {
    struct str source = json_str_at(m, "hostPath"), target = json_str_at(m, "containerPath");
    char path[PATH_LEN], dir[PATH_LEN], real[PATH_MAX];
    struct stat st;

    if (!good_path(source) || !good_path(target) || !str_copy(source, path, sizeof(path)) ||
        realpath(path, real) == NULL || stat(real, &st) == -1 || !S_ISREG(st.st_mode)) {
        return; /* sockets and folders of the driver's services are not for pods */
    }
    add(r, real, target);
    if (is_library(source) && str_copy(folder_of(source), dir, sizeof(dir))) {
        add_names(r, dir, real, target);
    }
}

static int read_spec(struct cdi_reading *r, const char *dir, const char *name, bool *ret_is,
                     struct err *err) {
    yyjson_mut_doc *doc;
    yyjson_doc *fixed;
    yyjson_arr_iter it;
    yyjson_val *m;
    struct str text;
    struct buf b;

    int code = file_load(dir, name, r->a, &text, err);
    code = code ? code : yaml_parse_one(r->a, text, &doc, err);
    if (code) {
        return err_wrap(err, "%s/%s", dir, name);
    }
    buf_init(&b, FILE_READ_MAX);
    json_write_mut(&b, yyjson_mut_doc_get_root(doc));
    code = json_parse(r->a, buf_view(&b), &fixed, err);
    buf_release(&b);
    yyjson_val *root = code ? NULL : yyjson_doc_get_root(fixed);
    *ret_is = str_is(json_str_at(root, "kind"), "nvidia.com/gpu");
    yyjson_arr_iter_init(*ret_is ? json_path(root, "containerEdits.mounts") : NULL, &it);
    while ((m = yyjson_arr_iter_next(&it))) {
        read_mount(r, m);
    }
    return code;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_spec(const struct dirent *e) {
    struct str name = str_of(e->d_name);

    return name.p[0] != '.' && (str_ends(name, STR(".yaml")) || str_ends(name, STR(".json")));
}

int cdi_read(const char *const *dirs, struct arena *a, struct cdi_file **ret, size_t *ret_n,
             struct err *err) {
    static const char *const usual[] = {"/etc/cdi", "/var/run/cdi", NULL};
    struct cdi_reading r = {.a = a, .v = ARENA_ARRAY(a, struct cdi_file, CDI_FILES_MAX)};
    bool found = false;
    int code = r.v ? 0 : err_set(err, ERR_NOMEM, "no memory");

    for (dirs = dirs ? dirs : usual; *dirs && code == 0 && !found; dirs++) {
        struct dirent **names = NULL;
        int n = scandir(*dirs, &names, is_spec, by_name);
        for (int i = 0; i < n; i++) {
            if (code == 0 && !found) {
                code = read_spec(&r, *dirs, names[i]->d_name, &found, err);
            }
            free(names[i]);
        }
        free(names);
    }
    if (code == 0) {
        *ret = r.v;
        *ret_n = r.n;
    }
    return code;
}

struct str cdi_library_path(const struct cdi_file *v, size_t n, struct arena *a) {
    struct str all = STR("");

    for (size_t i = 0; i < n; i++) {
        struct str folder = folder_of(v[i].target), rest = all, part;
        bool there = !is_library(v[i].target);
        while (!there && str_next(&rest, ':', &part)) {
            there = str_eq(part, folder);
        }
        if (!there) {
            all = arena_f(a, "%.*s%s%.*s", STR_ARG(all), all.n ? ":" : "", STR_ARG(folder));
        }
    }
    return all;
}

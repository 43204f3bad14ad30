/* model_files: see model_files.h. Files are opened, read from the front and closed; nothing is mapped, as a file that
 * shrinks meanwhile would end the program. */
#include "cli/model/model_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "core/model/gguf.h"
#include "core/model/safetensors.h"

enum { HEAD_FIRST = 1 << 20, SCRATCH_MAX = 512 << 20 };

/* ---- the front of a file ---- */

struct file_head {
    int fd;
    int64_t bytes; /* of the file */
};

static int head_open(const char *path, struct file_head *ret, struct err *err) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        int e = errno;
        err_sys(err, e, "%s", path);
        return e == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: no such file", path) : ERR_IO;
    }
    if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(err, ERR_BAD_REQUEST, "%s: expected a file", path);
    }
    *ret = (struct file_head){fd, st.st_size};
    return 0;
}

/* n bytes from `at` on, in the arena; fewer are an error. */
static int head_read(const struct file_head *h, struct arena *a, int64_t at, int64_t n,
                     struct str *ret, struct err *err) {
    char *p = arena_alloc(a, (size_t)n + 1);
    size_t got = 0;

    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for %lld bytes", (long long)n);
    }
    while (got < (size_t)n) {
        ssize_t k = pread(h->fd, p + got, (size_t)n - got, at + (int64_t)got);
        if (k == -1 && errno == EINTR) {
            continue;
        }
        if (k <= 0) {
            return k == 0 ? err_set(err, ERR_IO, "the file became shorter while it was read")
                          : err_sys(err, errno, "read");
        }
        got += (size_t)k;
    }
    *ret = str_from(p, got);
    return 0;
}

int model_files_text(struct arena *a, const char *path, size_t most, struct str *ret,
                     struct err *err) {
    struct file_head h;
    int code = head_open(path, &h, err);

    if (code != 0) {
        return code;
    }
    code = h.bytes > (int64_t)most ? err_set(err, ERR_TOO_LARGE, "%lld bytes; at most %zu are read",
                                             (long long)h.bytes, most)
                                   : head_read(&h, a, 0, h.bytes, ret, err);
    close(h.fd);
    return code != 0 ? err_wrap(err, "%s", path) : 0;
}

/* ---- safetensors ---- */

/* Adds the bytes of the tensors of one file to *sum. */
static int add_safetensors(struct arena *scratch, const char *path, int64_t *sum, struct err *err) {
    struct safetensors s;
    struct str prefix, header;
    struct file_head h = {.fd = -1};
    int64_t n = 0;

    int code = head_open(path, &h, err);
    if (code != 0) {
        return code;
    }
    arena_reset(scratch);
    int64_t least = h.bytes < SAFETENSORS_PREFIX ? h.bytes : SAFETENSORS_PREFIX;
    code = head_read(&h, scratch, 0, least, &prefix, err);
    code = code != 0 ? code : safetensors_length(prefix, h.bytes, &n, err);
    code = code != 0 ? code : head_read(&h, scratch, SAFETENSORS_PREFIX, n, &header, err);
    code = code != 0 ? code
                     : safetensors_read(scratch, header, h.bytes - n - SAFETENSORS_PREFIX, &s, err);
    close(h.fd);
    if (code != 0) {
        return err_wrap(err, "%s", path);
    }
    *sum += s.bytes;
    return 0;
}

/* ---- GGUF ---- */

/* Reads the head of one part: facts where `f` is not NULL, else only its bytes. */
static int read_gguf(struct arena *a, struct arena *scratch, const char *path, struct facts *f,
                     int64_t *sum, struct err *err) {
    struct gguf g;
    struct str bytes;
    struct file_head h;
    int64_t want = HEAD_FIRST, need = 0;

    int code = head_open(path, &h, err);
    if (code != 0) {
        return code;
    }
    do {
        arena_reset(scratch);
        want = want > h.bytes ? h.bytes : want;
        code = head_read(&h, scratch, 0, want, &bytes, err);
        code = code != 0 ? code : gguf_read(scratch, bytes, h.bytes, &g, &need, err);
        want = need > 2 * want ? need : 2 * want;
    } while (code == ERR_AGAIN);
    close(h.fd);
    if (code == 0 && f != NULL) {
        code = facts_of_gguf(&g, f, err);
        f->type = code == 0 ? arena_str(a, f->type) : f->type;
        f->quant = STR("");
    }
    if (code != 0) {
        return err_wrap(err, "%s", path);
    }
    *sum += g.bytes;
    return 0;
}

/* "NAME-00001-of-00003.gguf": its number of parts and what stands before the first number; 1: it is whole. */
static int64_t parts_of(struct str path, struct str *ret_stem) {
    struct str tail;
    int64_t n;
    enum { TAIL = sizeof("-00001-of-00003.gguf") - 1 };

    if (path.n <= TAIL) {
        return 1;
    }
    tail = str_from(path.p + path.n - TAIL, TAIL);
    bool form = tail.p[0] == '-' && str_eq(str_from(tail.p + 6, 4), STR("-of-"));
    if (!form || !str_to_i64(str_from(tail.p + 10, 5), &n) || n < 1 || n > LIMIT_MODEL_FILES) {
        return 1;
    }
    *ret_stem = str_head(path, path.n - TAIL);
    return n;
}

static int of_gguf(struct arena *a, struct arena *scratch, const char *path,
                   struct model_files *ret, struct err *err) {
    struct str stem = {0};
    int64_t parts = parts_of(str_of(path), &stem), sum = 0;
    int code = 0;

    ret->gguf = true;
    for (int64_t i = 1; i <= parts && code == 0; i++) {
        const char *part = path;
        if (parts > 1) {
            part = arena_f(a, "%.*s-%05lld-of-%05lld.gguf", STR_ARG(stem), (long long)i,
                           (long long)parts)
                       .p;
        }
        code = part == NULL ? err_set(err, ERR_NOMEM, "no memory")
                            : read_gguf(a, scratch, part, i == 1 ? &ret->facts : NULL, &sum, err);
        ret->n++;
    }
    if (code == 0) {
        facts_weigh(&ret->facts, sum);
    }
    return code;
}

/* ---- a folder ---- */

struct folder {
    struct str *v; /* names with the ending, sorted */
    size_t n, cap;
};

static int names(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static int folder_list(struct arena *a, const char *path, const char *ending, struct folder *ret,
                       struct err *err) {
    DIR *dir = opendir(path);
    struct dirent *e;
    int code = 0;

    if (dir == NULL) {
        return err_sys(err, errno, "%s", path);
    }
    while (code == 0 && (e = readdir(dir)) != NULL) {
        struct str name = str_of(e->d_name);
        if (!str_ends(name, str_of(ending)) || name.p[0] == '.') {
            continue;
        }
        if (ret->n == LIMIT_MODEL_FILES) {
            code = err_set(err, ERR_TOO_LARGE, "%s: more than %d files", path, LIMIT_MODEL_FILES);
        } else if (ret->n == ret->cap && ARENA_GROW(a, ret->v, ret->cap) != 0) {
            code = err_set(err, ERR_NOMEM, "no memory");
        } else {
            ret->v[ret->n++] = arena_str(a, name);
        }
    }
    closedir(dir);
    if (code == 0 && ret->n > 0) {
        qsort(ret->v, ret->n, sizeof(*ret->v), names);
    }
    return code;
}

static const char *join(struct arena *a, const char *dir, struct str name) {
    struct str path = arena_f(a, "%s/%.*s", dir, STR_ARG(name));
    return path.p != NULL ? path.p : "";
}

/* The files that the index names; false: there is none, or one of them is missing (then ret->note says so). */
static int by_index(struct arena *a, struct arena *scratch, const char *dir,
                    struct model_files *ret, int64_t *sum, struct err *err) {
    const char *path = join(a, dir, STR("model.safetensors.index.json"));
    struct safetensors_index x;
    struct str text;

    int code = model_files_text(a, path, LIMIT_MODEL_HEADER_BYTES, &text, err);
    code = code != 0 ? code : safetensors_index_read(a, text, &x, err);
    if (code != 0) {
        return code == ERR_NOT_FOUND ? code : err_wrap(err, "%s", path);
    }
    for (size_t i = 0; i < x.n && code == 0; i++) {
        bool inside = memchr(x.files[i].p, '/', x.files[i].n) == NULL;
        code = inside ? add_safetensors(scratch, join(a, dir, x.files[i]), sum, err)
                      : err_set(err, ERR_INVALID,
                                "%s: weight_map: expected names of files beside it", path);
    }
    ret->n = x.n;
    if (code == ERR_NOT_FOUND && x.total_bytes > 0) {
        ret->note = arena_f(
            a, "not all of the %zu files are there: weights are the total of the index", x.n);
        ret->n = 0;
        *sum = x.total_bytes;
        code = 0;
    }
    return code;
}

static int weigh_folder(struct arena *a, struct arena *scratch, const char *dir,
                        struct model_files *ret, struct err *err) {
    struct folder all = {0};
    int64_t sum = 0;

    int code = by_index(a, scratch, dir, ret, &sum, err);
    if (code != ERR_NOT_FOUND) {
        if (code == 0) {
            facts_weigh(&ret->facts, sum);
        }
        return code;
    }
    sum = 0;
    ret->n = 0;
    code = folder_list(a, dir, ".safetensors", &all, err);
    for (size_t i = 0; i < all.n && code == 0; i++) {
        bool twin = str_starts(all.v[i], STR("consolidated")) && all.n > 1;
        if (!twin) {
            code = add_safetensors(scratch, join(a, dir, all.v[i]), &sum, err);
            ret->n++;
        }
    }
    if (code == 0 && ret->n > 0) {
        facts_weigh(&ret->facts, sum);
    } else if (code == 0) {
        ret->note = STR("no weight files: weights are counted from the sizes in config.json");
    }
    return code;
}

static int read_config(struct arena *a, const char *path, struct model_files *ret,
                       struct err *err) {
    struct str text;
    int code = model_files_text(a, path, LIMIT_MODEL_CONFIG_BYTES, &text, err);
    if (code != 0) {
        return code;
    }
    code = facts_of_config(a, text, &ret->facts, err);
    return code != 0 ? err_wrap(err, "%s", path) : 0;
}

static int of_folder(struct arena *a, struct arena *scratch, const char *dir,
                     struct model_files *ret, struct err *err) {
    struct folder gguf = {0};
    struct str stem = {0};
    size_t models = 0, first = 0;

    int code = read_config(a, join(a, dir, STR("config.json")), ret, err);
    if (code != ERR_NOT_FOUND) {
        return code != 0 ? code : weigh_folder(a, scratch, dir, ret, err);
    }
    code = folder_list(a, dir, ".gguf", &gguf, err);
    for (size_t i = 0; i < gguf.n; i++) {
        bool later = parts_of(gguf.v[i], &stem) > 1 && stem.n + 6 <= gguf.v[i].n &&
                     !str_eq(str_from(gguf.v[i].p + stem.n, 6), STR("-00001"));
        if (!later && !str_starts(gguf.v[i], STR("mmproj"))) {
            first = models++ == 0 ? i : first;
        }
    }
    if (code == 0 && models != 1) {
        return err_set(err, ERR_BAD_REQUEST, "%s: %s", dir,
                       models == 0 ? "expected a config.json or a GGUF file in it"
                                   : "several GGUF files: name one of them");
    }
    return code != 0 ? code : of_gguf(a, scratch, join(a, dir, gguf.v[first]), ret, err);
}

/* ---- what was named ---- */

static int of_safetensors(struct arena *a, struct arena *scratch, const char *path,
                          struct model_files *ret, struct err *err) {
    ptrdiff_t slash = str_find_last(str_of(path), '/');
    struct str dir = slash < 0 ? STR(".") : str_head(str_of(path), (size_t)slash + 1);
    int64_t sum = 0;

    int code = read_config(a, join(a, arena_str(a, dir).p, STR("config.json")), ret, err);
    if (code == ERR_NOT_FOUND) {
        return err_set(
            err, ERR_BAD_REQUEST,
            "%s: there is no config.json beside it; without one the size of the cache is unknown",
            path);
    }
    code = code != 0 ? code : add_safetensors(scratch, path, &sum, err);
    if (code == 0) {
        ret->n = 1;
        facts_weigh(&ret->facts, sum);
    }
    return code;
}

int model_files_read(struct arena *a, const char *path, struct model_files *ret, struct err *err) {
    struct model_files m = {0};
    struct arena scratch;
    struct stat st;
    struct str name = str_of(path);
    int code;

    if (stat(path, &st) == -1) {
        return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "%s: no such file or folder", path)
                               : err_sys(err, errno, "%s", path);
    }
    arena_init(&scratch, SCRATCH_MAX);
    if (S_ISDIR(st.st_mode)) {
        code = of_folder(a, &scratch, path, &m, err);
    } else if (str_ends(name, STR(".gguf"))) {
        code = of_gguf(a, &scratch, path, &m, err);
    } else if (str_ends(name, STR(".safetensors"))) {
        code = of_safetensors(a, &scratch, path, &m, err);
    } else if (str_ends(name, STR(".json"))) {
        code = read_config(a, path, &m, err);
        m.note = STR("weights are counted from the sizes in config.json");
    } else {
        code = err_set(
            err, ERR_BAD_REQUEST,
            "%s: expected a folder, config.json, or a file that ends in .gguf or .safetensors",
            path);
    }
    arena_release(&scratch);
    if (code == 0) {
        *ret = m;
    }
    return code;
}

/* zoneinfo: this machine's time zone files. See zoneinfo.h. */
#include "base/zoneinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

enum { PATH_BYTES = 4096 };

/* Appends at most `max` bytes of the file; a longer one is ERR_TOO_LARGE, unless `cut`. */
static int read_file(const char *path, size_t max, bool cut, struct buf *out, struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? err_set(err, ERR_NOT_FOUND, "no file %s", path)
                                                   : err_sys(err, errno, "cannot open %s", path);
    }
    size_t before = out->n;
    int code = 0;
    while (code == 0 && out->n - before <= max) {
        char *room = buf_room(out, 4096);
        ssize_t n = room ? read(fd, room, 4096) : 0;
        if (n < 0 && errno == EISDIR) {
            code = err_set(err, ERR_NOT_FOUND, "%s is a folder", path); /* "America" */
        } else if (n < 0 && errno != EINTR) {
            code = err_sys(err, errno, "cannot read %s", path);
        }
        if (n == 0) {
            break;
        }
        out->n += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (code == 0 && buf_ok(out) != 0) {
        code = err_set(err, buf_ok(out), "no memory to read %s", path);
    }
    if (code == 0 && out->n - before > max) {
        code = cut ? 0 : err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, max);
        out->n = before + max;
    }
    if (code != 0) {
        out->n = before;
    }
    return code;
}

static int read_below(void *ctx, struct str name, size_t max, bool cut, struct buf *out,
                      struct err *err) {
    const char *dir = ctx ? ctx : ZONEINFO_DIR;
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof(path), "%s/%.*s", dir, STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof(path) || memchr(name.p, 0, name.n)) {
        return err_set(err, ERR_NOT_FOUND, "no file of this name in %s", dir);
    }
    return read_file(path, max, cut, out, err);
}

int zoneinfo_read(void *ctx, struct str name, struct buf *out, struct err *err) {
    return read_below(ctx, name, LIMIT_ZONE_BYTES, false, out, err);
}

/* The first line of tzdata.zi, which Debian's package has: "# version 2025b". */
int zoneinfo_version(void *ctx, struct buf *out, struct err *err) {
    struct buf head;
    struct str line, rest;
    const struct str start = STR("# version ");
    buf_init(&head, 0);
    int code = read_below(ctx, STR("tzdata.zi"), 64, true, &head, err);
    if (code == 0 && str_cut(buf_view(&head), '\n', &line, &rest) && str_starts(line, start)) {
        buf_str(out, str_trim(str_skip(line, start.n)));
    }
    buf_release(&head);
    return code;
}

/* What follows ".../zoneinfo/" in a path, without posix/ before it; or the name itself when it is no path. */
static struct str name_in(struct str path) {
    const struct str mark = STR("/zoneinfo/");
    for (size_t i = 0; i + mark.n <= path.n; i++) {
        if (str_starts(str_skip(path, i), mark)) {
            struct str name = str_skip(path, i + mark.n);
            return str_starts(name, STR("posix/")) ? str_skip(name, 6) : name;
        }
    }
    return path.n > 0 && path.p[0] == '/' ? (struct str){0} : path;
}

struct str zoneinfo_local(char out[static ZONEINFO_NAME_MAX]) {
    const char *env = getenv("TZ");
    struct str name = name_in(str_of(env && env[0] == ':' ? env + 1 : env));
    if (name.n > 0 && str_copy(name, out, ZONEINFO_NAME_MAX)) {
        return str_of(out);
    }
    char link[PATH_BYTES];
    ssize_t n = readlink("/etc/localtime", link, sizeof(link));
    name = n > 0 ? name_in(str_from(link, (size_t)n)) : (struct str){0};
    if (str_starts(name, STR(".."))) { /* a link to another link */
        name = (struct str){0};
    }
    struct buf file;
    buf_init(&file, 0);
    if (name.n == 0 && read_file("/etc/timezone", ZONEINFO_NAME_MAX, true, &file, NULL) == 0) {
        name = str_trim(buf_view(&file));
    }
    if (name.n == 0 || !str_copy(name, out, ZONEINFO_NAME_MAX)) {
        (void)str_copy(STR("UTC"), out, ZONEINFO_NAME_MAX);
    }
    buf_release(&file);
    return str_of(out);
}

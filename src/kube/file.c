/* file (kube): see file.h. */
#include "kube/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"

int kube_file_read(struct arena *a, const char *path, size_t max, struct str *ret,
                   struct err *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int e = errno;
        err_sys(err, e, "%s", path);
        if (e == ENOENT && err) {
            err->code = ERR_NOT_FOUND;
        }
        return e == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    }
    struct buf b;
    buf_init(&b, max + 1);
    ssize_t n = 1;
    while (n > 0 && b.n <= max) {
        size_t want = max + 1 - b.n < 4096 ? max + 1 - b.n : 4096;
        char *to = buf_room(&b, want);
        n = to ? read(fd, to, want) : 0;
        b.n += n > 0 ? (size_t)n : 0;
    }
    int e = errno;
    close(fd);
    int r = n < 0        ? err_sys(err, e, "%s", path)
            : b.n > max  ? err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, max)
            : buf_ok(&b) ? err_set(err, ERR_NOMEM, "no memory")
                         : 0;
    struct str s = r == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (r == 0 && s.p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    if (r == 0) {
        *ret = s;
    }
    return r;
}

/*
 * shim_message: termination messages. A container writes to a file of its own (mounted where the Pod says); what
 * stands there at its end is its message. With FallbackToLogsOnError, a container that failed and wrote nothing has the
 * end of its log instead. Both are cut: a message, a log's end, and a pod's messages together.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/sandbox/shim.h"

enum { LOG_BYTES = 2048, LOG_LINES = 80 };

void shim_message_open(struct shim *s, struct shim_container *c) {
    if (c->message_file == NULL) {
        return;
    }
    int fd = open(c->message_file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat st;

    if (fd == -1) {
        return;
    }
    /* The project's user may have put something else there: that is left alone. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1) {
        (void)!ftruncate(fd, 0);
        (void)!(s->sandbox.uid ? fchown(fd, s->sandbox.uid, s->sandbox.gid) : 0);
    }
    close(fd);
}

static size_t read_file(const struct shim_container *c, char *out, size_t most) {
    int fd = c->message_file ? open(c->message_file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                             : -1;
    struct stat st;
    ssize_t n = 0;

    if (fd == -1) {
        return 0;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        n = read(fd, out, most);
    }
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* The last lines of the log, of both streams, without their heads. */
static size_t read_log(struct shim_container *c, char *out, size_t most) {
    static char raw[4 * LOG_BYTES + 16384];
    char name[64];
    struct podlog_line l;
    struct buf b;

    snprintf(name, sizeof(name), "%d.log", c->restarts);
    int fd = openat(c->log.dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    off_t size = fd == -1 ? 0 : lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(raw) ? size - (off_t)sizeof(raw) : 0;
    ssize_t n = fd == -1 ? 0 : pread(fd, raw, sizeof(raw), from);
    struct str rest = str_from(raw, n > 0 ? (size_t)n : 0);
    if (fd != -1) {
        close(fd);
    }
    if (from) { /* begins in the middle of a line */
        ptrdiff_t at = str_find(rest, '\n');
        rest = str_skip(rest, at < 0 ? rest.n : (size_t)at + 1);
    }
    buf_init(&b, sizeof(raw));
    while (podlog_next(&rest, &l) != ERR_AGAIN) {
        buf_str(&b, l.text);
        buf_c(&b, l.full ? "\n" : "");
    }
    struct str tail = buf_view(&b);
    tail = str_skip(tail, tail.n > LOG_BYTES ? tail.n - LOG_BYTES : 0);
    size_t lines = 0, at = tail.n;
    while (at && (lines += tail.p[at - 1] == '\n') <= LOG_LINES) {
        at--;
    }
    tail = str_skip(tail, at);
    tail = str_skip(tail, tail.n > most ? tail.n - most : 0);
    if (tail.n) {
        memcpy(out, tail.p, tail.n);
    }
    size_t used = tail.n;
    buf_release(&b);
    return used;
}

void shim_message_read(struct shim *s, struct shim_container *c) {
    size_t most = SHIM_POD_MESSAGES / s->n;

    if (c->end.message[0]) { /* why it could not begin */
        return;
    }
    most = most < SHIM_MESSAGE - 1 ? most : SHIM_MESSAGE - 1;
    size_t n = read_file(c, c->end.message, most);
    if (n == 0 && c->message_from_log && c->end.exit_code != 0) {
        n = read_log(c, c->end.message, most);
    }
    for (size_t i = 0; i < n; i++) { /* the text ends with NUL */
        c->end.message[i] = c->end.message[i] ? c->end.message[i] : ' ';
    }
    c->end.message[n] = 0;
}

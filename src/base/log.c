/* log: lines to a file descriptor. See log.h. */
#include "base/log.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

void log_at(struct log *l, enum log_level level, const char *fmt, ...) {
    if (l == NULL || level > l->level) {
        return;
    }
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (n < 0) {
        return;
    }
    size_t len = (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        line[i] = c < 0x20 || c == 0x7f ? ' ' : line[i];
    }
    l->write(l, level, str_from(line, len));
}

static void write_fd(struct log *l, enum log_level level, struct str line) {
    static const char *const names[] = {"ERROR", "WARN ", "INFO ", "DEBUG"};
    struct log_fd *self = (struct log_fd *)l;
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    char out[2200];
    int n = snprintf(out, sizeof(out), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ %s %.*s\n",
                     tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                     now.tv_nsec / 1000000, names[level], STR_ARG(line));
    if (n > 0) {
        (void)!write(self->fd, out, (size_t)n);
    }
}

void log_fd_init(struct log_fd *l, enum log_level level, int fd) {
    *l = (struct log_fd){.log = {.level = level, .write = write_fd}, .fd = fd};
}

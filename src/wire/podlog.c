/* podlog: see podlog.h. A codec: bytes in, lines out, no file. */
#include "wire/podlog.h"

#include "wire/text/time.h"

void podlog_write(struct buf *b, int64_t time_ns, enum podlog_stream stream, bool full,
                  struct str text) {
    char stamp[TIME_TEXT_MAX];

    buf_str(b, time_text_nano(time_ns, stamp));
    buf_c(b, stream == PODLOG_STDOUT ? " stdout " : " stderr ");
    buf_c(b, full ? "F " : "P ");
    buf_str(b, text);
    buf_ch(b, '\n');
}

int podlog_next(struct str *rest, struct podlog_line *ret) {
    struct str line, tail, stamp, stream, tag, text;
    struct podlog_line l = {0};

    if (!str_cut(*rest, '\n', &line, &tail)) {
        return ERR_AGAIN;
    }
    *rest = tail;
    if (!str_cut(line, ' ', &stamp, &text) || !str_cut(text, ' ', &stream, &text) ||
        !str_cut(text, ' ', &tag, &text) || time_parse(stamp, &l.time_ns, NULL)) {
        return ERR_SYNTAX;
    }
    if (!str_is(stream, "stdout") && !str_is(stream, "stderr")) {
        return ERR_SYNTAX;
    }
    if (!str_is(tag, "F") && !str_is(tag, "P")) {
        return ERR_SYNTAX;
    }
    l.stream = str_is(stream, "stdout") ? PODLOG_STDOUT : PODLOG_STDERR;
    l.full = str_is(tag, "F");
    l.stamp = stamp;
    l.text = text;
    *ret = l;
    return 0;
}

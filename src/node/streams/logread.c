/*
 * logread: see logread.h.
 *
 * A reader walks the parts of one run, oldest first. The shim renames N.log to N.log.1 when it is
 * full: a reader that has the old file open reads it to its end, sees by inode that N.log is
 * another file now, and goes on there. Lines are handed on whole, their stamps taken off unless
 * wanted; parts of a line (P) are put together.
 */
#include "node/streams/logread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "node/files/files.h"
#include "wire/podlog.h"

enum { CHUNK = 65536, FOLLOW_MS = 50, TURN_CHUNKS = 16 };

struct logs {
    struct log_source source;
    struct clock *clock;
    char data_dir[PATH_LEN];
};

struct log_reader {
    struct logs *logs;
    struct log_options o;
    char pod_dir[PATH_LEN], dir[PATH_LEN], container[256];
    int restart, part; /* which run; which rotated part, 0 is the newest */
    int fd;
    struct buf in, out;
    int64_t skip_lines; /* of the tail */
    int64_t left;       /* bytes that may still be handed on; -1: any */
    bool paused, done, part_open;
    struct timer *timer;
    bool (*data)(void *ctx, struct str bytes);
    void (*end)(void *ctx, const struct err *err);
    void *ctx;
};

static void part_name(const struct log_reader *r, int part, char out[64]) {
    if (part) {
        snprintf(out, 64, "%d.log.%d", r->restart, part);
    } else {
        snprintf(out, 64, "%d.log", r->restart);
    }
}

static int open_part(const struct log_reader *r, int part) {
    char name[64], path[PATH_LEN];

    part_name(r, part, name);
    return path_join(path, r->dir, name, NULL) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* The newest run there is, or the one before; -1: none. */
static int find_run(const char *dir, bool previous) {
    struct dirent *e;
    int64_t newest = -1, before = -1, n;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        struct str head, tail;
        if (!str_cut(str_of(e->d_name), '.', &head, &tail) || !str_is(tail, "log") ||
            !str_to_i64(head, &n)) {
            continue;
        }
        if (n > newest) {
            before = newest;
            newest = n;
        } else if (n > before) {
            before = n;
        }
    }
    if (d) {
        closedir(d);
    }
    return (int)(previous ? before : newest);
}

/* Has this container ended for good, or this run of it? Then a followed log is complete. */
static bool run_over(const struct log_reader *r) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;
    yyjson_arr_iter it;
    yyjson_val *c;
    bool over = false;

    arena_init(&a, 32 << 20);
    int code = file_load(r->pod_dir, "state.json", &a, &text, NULL);
    if (code == 0 && json_parse(&a, text, &doc, NULL) == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        over = !str_is(json_str_at(root, "phase"), "Running");
        yyjson_arr_iter_init(json_get(root, STR("containers")), &it);
        while (!over && (c = yyjson_arr_iter_next(&it))) {
            over = str_is(json_str_at(c, "name"), r->container) &&
                   (str_is(json_str_at(c, "state"), "done") ||
                    str_is(json_str_at(c, "state"), "backoff") ||
                    json_i64_at(c, "restarts", 0) > r->restart);
        }
    } else if (access(r->dir, F_OK) == -1) {
        over = true; /* the pod is gone */
    }
    arena_release(&a);
    return over;
}

static void finish(struct log_reader *r, const struct err *err) {
    r->done = true;
    r->logs->clock->timer_stop(r->timer);
    r->end(r->ctx, err);
}

static bool wanted(const struct log_reader *r, const struct podlog_line *l) {
    return l->time_ns >= r->o.since_ns && !(r->o.stdout_only && l->stream != PODLOG_STDOUT) &&
           !(r->o.stderr_only && l->stream != PODLOG_STDERR);
}

static void add_line(struct log_reader *r, const struct podlog_line *l) {
    if (!wanted(r, l)) {
        return;
    }
    if (r->skip_lines > 0) {
        r->skip_lines -= l->full;
        return;
    }
    if (r->o.timestamps && !r->part_open) {
        buf_str(&r->out, l->stamp);
        buf_ch(&r->out, ' ');
    }
    buf_str(&r->out, l->text);
    if (l->full) {
        buf_ch(&r->out, '\n');
    }
    r->part_open = !l->full;
}

/* Takes what is in `in` apart. */
static void take_lines(struct log_reader *r) {
    struct str rest = buf_view(&r->in);
    struct podlog_line l;
    int code;

    while ((code = podlog_next(&rest, &l)) != ERR_AGAIN) {
        if (code == 0) {
            add_line(r, &l);
        }
    }
    buf_consume(&r->in, r->in.n - rest.n);
}

/* Hands on; false when the user wants a pause or has had enough. */
static bool hand_on(struct log_reader *r) {
    struct str s = buf_view(&r->out);

    if (r->left >= 0 && s.n > (size_t)r->left) {
        s.n = (size_t)r->left;
    }
    if (s.n && !r->data(r->ctx, s)) {
        r->paused = true;
    }
    r->left -= r->left >= 0 ? (int64_t)s.n : 0;
    buf_reset(&r->out);
    if (r->left == 0) {
        finish(r, NULL);
        return false;
    }
    return !r->paused;
}

/* At the end of this file: is there a next one? */
static bool next_file(struct log_reader *r) {
    struct stat mine, newest;
    int fd = -1;

    if (r->part > 0) {
        fd = open_part(r, r->part - 1);
    } else {
        int now = open_part(r, 0);
        if (now != -1 && fstat(now, &newest) == 0 && fstat(r->fd, &mine) == 0 &&
            mine.st_ino != newest.st_ino) {
            fd = now;
        } else if (now != -1) {
            close(now);
        }
    }
    if (fd == -1) {
        return false;
    }
    close(r->fd);
    r->fd = fd;
    r->part = r->part > 0 ? r->part - 1 : 0;
    return true;
}

static void at_end(struct log_reader *r, bool was_over) {
    if (next_file(r)) {
        r->logs->clock->timer_start(r->timer, 0);
    } else if (!r->o.follow || was_over) {
        finish(r, NULL);
    } else {
        r->logs->clock->timer_start(r->timer, FOLLOW_MS * NS_PER_MS);
    }
}

static void on_turn(void *ctx) {
    struct log_reader *r = ctx;
    /* Asked before reading: what was written before the end is then surely read. */
    bool over = !r->o.follow || run_over(r);

    for (int i = 0; i < TURN_CHUNKS && !r->paused; i++) {
        char *room = buf_room(&r->in, CHUNK);
        ssize_t n = room ? read(r->fd, room, CHUNK) : -1;
        if (n == -1) {
            struct err err;
            err_sys(&err, room ? errno : ENOMEM, "the log of %s cannot be read", r->container);
            finish(r, &err);
            return;
        }
        if (n == 0) {
            at_end(r, over);
            return;
        }
        r->in.n += (size_t)n;
        take_lines(r);
        if (!hand_on(r)) {
            return;
        }
    }
    r->logs->clock->timer_start(r->timer, 0);
}

/* Lines that the tail leaves out: counted over all parts, from the oldest. */
static int64_t count_lines(const struct log_reader *r) {
    struct buf in;
    int64_t lines = 0;

    buf_init(&in, 1 << 20);
    for (int part = r->part; part >= 0; part--) {
        int fd = open_part(r, part);
        char *room;
        ssize_t n = 0;
        while (fd != -1 && (room = buf_room(&in, CHUNK)) && (n = read(fd, room, CHUNK)) > 0) {
            struct podlog_line l;
            int code;
            in.n += (size_t)n;
            struct str rest = buf_view(&in);
            while ((code = podlog_next(&rest, &l)) != ERR_AGAIN) {
                lines += code == 0 && l.full && wanted(r, &l);
            }
            buf_consume(&in, in.n - rest.n);
        }
        if (fd != -1) {
            close(fd);
        }
    }
    buf_release(&in);
    return lines;
}

static void log_close(struct log_reader *r) {
    if (r->fd != -1) {
        close(r->fd);
    }
    r->logs->clock->timer_free(r->timer);
    buf_release(&r->in);
    buf_release(&r->out);
    mem_free(r);
}

static int find_log(struct log_reader *r, const struct object *pod, struct err *err) {
    if (!path_plain(pod->uid) || !path_plain(r->o.container) ||
        !str_copy(r->o.container, r->container, sizeof(r->container)) ||
        snprintf(r->pod_dir, PATH_LEN, "%s/pods/%.*s", r->logs->data_dir, STR_ARG(pod->uid)) >=
            PATH_LEN ||
        snprintf(r->dir, PATH_LEN, "%.900s/log/%s", r->pod_dir, r->container) >= PATH_LEN) {
        return err_set(err, ERR_BAD_REQUEST, "no such container");
    }
    r->restart = find_run(r->dir, r->o.previous);
    for (int i = LIMIT_LOG_FILES - 1; r->restart >= 0 && i >= 0 && r->fd == -1; i--) {
        r->part = i;
        r->fd = open_part(r, i);
    }
    return r->fd != -1 ? 0
                       : err_set(err, ERR_NOT_FOUND,
                                 r->o.previous ? "previous terminated container \"%s\" not found"
                                               : "container \"%s\" has no log yet",
                                 r->container);
}

static int log_open(struct log_source *s, const struct object *pod, const struct log_options *o,
                    bool (*data)(void *ctx, struct str bytes),
                    void (*end)(void *ctx, const struct err *err), void *ctx,
                    struct log_reader **ret, struct err *err) {
    struct logs *logs = (struct logs *)s;
    struct log_reader *r = mem_zalloc(sizeof(*r));

    if (r == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *r = (struct log_reader){.logs = logs,
                             .o = *o,
                             .fd = -1,
                             .data = data,
                             .end = end,
                             .ctx = ctx,
                             .left = o->limit_bytes};
    buf_init(&r->in, 4 << 20);
    buf_init(&r->out, 16 << 20);
    r->timer = logs->clock->timer_new(logs->clock, on_turn, r);
    int code = r->timer ? find_log(r, pod, err) : err_set(err, ERR_NOMEM, "no memory");
    r->o.container = str_of(r->container);
    if (code) {
        log_close(r);
        return code;
    }
    if (o->tail_lines >= 0) {
        int64_t lines = count_lines(r);
        r->skip_lines = lines > o->tail_lines ? lines - o->tail_lines : 0;
    }
    logs->clock->timer_start(r->timer, 0);
    *ret = r;
    return 0;
}

static void log_resume(struct log_reader *r) {
    if (r->paused && !r->done) {
        r->paused = false;
        r->logs->clock->timer_start(r->timer, 0);
    }
}

struct log_source *logread_new(const char *data_dir, struct clock *clock, struct err *err) {
    struct logs *l = mem_zalloc(sizeof(*l));

    if (l == NULL || !str_copy(str_of(data_dir), l->data_dir, sizeof(l->data_dir))) {
        mem_free(l);
        err_set(err, ERR_NOMEM, "no memory, or the path of the data folder is too long");
        return NULL;
    }
    l->source = (struct log_source){.open = log_open, .resume = log_resume, .close = log_close};
    l->clock = clock;
    return &l->source;
}

void logread_free(struct log_source *s) {
    mem_free(s);
}

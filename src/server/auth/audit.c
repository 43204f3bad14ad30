/* audit: who did what, chained. See audit.h. */
#include "server/auth/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/tls.h"
#include "wire/text/time.h"

enum {
    FLUSH_BYTES = 64 << 10,
    PENDING_MAX = 8 << 20, /* when the disk stands still, lines beyond this are lost and counted */
    TAIL_BYTES = 64 << 10,
    LINE_MAX_BYTES = 64 << 10,
    FLUSH_MS = 20,
    COMMAND_MAX = 1024, /* bytes of a command that are kept */
};

static const char no_hash[] = "0000000000000000000000000000000000000000000000000000000000000000";
static const struct str HASH_MEMBER = {",\"hash\":\"", 9};

struct audit {
    char *file;
    int fd;
    size_t size, max;
    bool reads, ticking;
    struct clock *clock;
    struct timer *timer;
    struct buf pending;
    struct buf line; /* the one being made; kept, so that a line needs no memory */
    uint64_t seq, lost, lost_untold;
    char last[AUDIT_HASH_TEXT + 1];
};

/* ---- the file ---- */

static int open_file(struct audit *x, struct err *err) {
    struct stat st;
    x->fd = open(x->file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (x->fd < 0 || fstat(x->fd, &st) != 0) {
        return err_sys(err, errno, "cannot open %s", x->file);
    }
    x->size = (size_t)st.st_size;
    return 0;
}

static struct str between(struct str s, struct str after, char end) {
    const char *at = s.n ? memmem(s.p, s.n, after.p, after.n) : NULL;
    struct str rest = at ? str_skip(s, (size_t)(at - s.p) + after.n) : (struct str){0}, head, tail;
    return str_cut(rest, end, &head, &tail) ? head : (struct str){0};
}

/* A whole line, whose hash is its own? */
static bool is_whole(struct str line) {
    char hash[AUDIT_HASH_TEXT + 1];
    const char *at = line.n ? memmem(line.p, line.n, HASH_MEMBER.p, HASH_MEMBER.n) : NULL;
    if (at == NULL) {
        return false;
    }
    struct str body = str_head(line, (size_t)(at - line.p));
    tls_sha256_text(body, hash);
    return str_is(between(line, HASH_MEMBER, '"'), hash);
}

uint64_t audit_revision(const char *file) {
    char *tail = mem_alloc(TAIL_BYTES);
    struct stat st;
    uint64_t newest = 0, revision;
    int fd = tail ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    size_t want = 0;
    if (fd != -1 && fstat(fd, &st) == 0) {
        want = st.st_size < TAIL_BYTES ? (size_t)st.st_size : TAIL_BYTES;
    }
    ssize_t n = want ? pread(fd, tail, want, st.st_size - (off_t)want) : 0;
    struct str text = str_from(tail, n > 0 ? (size_t)n : 0), line;
    while (str_next(&text, '\n', &line)) {
        struct str number = between(line, STR(",\"revision\":"), ',');
        if (str_to_u64(number, &revision) && revision > newest && is_whole(line)) {
            newest = revision;
        }
    }
    if (fd != -1) {
        close(fd);
    }
    mem_free(tail);
    return newest;
}

/* Continues the chain of the last whole line. A torn last line is ended, so that what follows stands on its own. */
static int read_tail(struct audit *x, struct err *err) {
    char *tail = mem_alloc(TAIL_BYTES);
    size_t want = x->size < TAIL_BYTES ? x->size : TAIL_BYTES;
    if (tail == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the audit log");
    }
    ssize_t n = pread(x->fd, tail, want, (off_t)(x->size - want));
    struct str text = str_from(tail, n > 0 ? (size_t)n : 0), line;
    bool torn = text.n && text.p[text.n - 1] != '\n';
    while (str_next(&text, '\n', &line)) {
        struct str hash = between(line, HASH_MEMBER, '"'),
                   seq = between(line, STR("{\"seq\":"), ',');
        uint64_t number;
        if (hash.n == AUDIT_HASH_TEXT && str_to_u64(seq, &number)) {
            str_copy(hash, x->last, sizeof(x->last));
            x->seq = number;
        }
    }
    mem_free(tail);
    if (torn) {
        buf_ch(&x->pending, '\n');
    }
    return n < 0 ? err_sys(err, errno, "cannot read %s", x->file) : 0;
}

/* FILE.4 becomes FILE.5, ..., FILE becomes FILE.1. */
static void rotate(struct audit *x) {
    char from[4096], to[4096];
    for (int i = AUDIT_FILES - 1; i >= 0; i--) {
        int n = i ? snprintf(from, sizeof(from), "%s.%d", x->file, i)
                  : snprintf(from, sizeof(from), "%s", x->file);
        int m = snprintf(to, sizeof(to), "%s.%d", x->file, i + 1);
        if (n < (int)sizeof(from) && m < (int)sizeof(to)) {
            (void)rename(from, to); /* the numbers that do not exist yet fail, and that is well */
        }
    }
    int old = x->fd;
    if (open_file(x, NULL) != 0) { /* goes on in the old file, tries again at the next line */
        if (x->fd >= 0) {
            close(x->fd);
        }
        x->fd = old;
        x->size = 0;
        return;
    }
    close(old);
}

void audit_flush(struct audit *x) {
    size_t done = 0;
    while (done < x->pending.n) {
        ssize_t n = write(x->fd, x->pending.p + done, x->pending.n - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; /* a full disk: what is left is tried again with the next flush */
        }
        done += (size_t)n;
    }
    buf_consume(&x->pending, done);
    x->size += done;
    if (x->size >= x->max && x->pending.n == 0) {
        rotate(x);
    }
}

static void tick(void *ctx) {
    struct audit *x = ctx;
    x->ticking = false;
    audit_flush(x);
}

int audit_new(const struct audit_options *o, struct audit **ret, struct err *err) {
    struct audit *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for the audit log");
    }
    x->fd = -1;
    x->max = o->max_bytes ? o->max_bytes : 64 << 20;
    x->reads = o->reads;
    x->clock = o->clock;
    buf_init(&x->pending, PENDING_MAX);
    buf_init(&x->line, LINE_MAX_BYTES);
    memcpy(x->last, no_hash, sizeof(x->last));
    x->file = mem_cstr(str_of(o->file));
    x->timer = o->clock ? o->clock->timer_new(o->clock, tick, x) : NULL;
    int r = x->file == NULL || (o->clock && x->timer == NULL)
                ? err_set(err, ERR_NOMEM, "no memory for the audit log")
                : open_file(x, err);
    r = r ? r : read_tail(x, err);
    if (r != 0) {
        audit_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

void audit_free(struct audit *x) {
    if (x == NULL) {
        return;
    }
    if (x->fd >= 0) {
        audit_flush(x);
        close(x->fd);
    }
    if (x->timer) {
        x->clock->timer_free(x->timer);
    }
    buf_release(&x->pending);
    buf_release(&x->line);
    mem_free(x->file);
    mem_free(x);
}

uint64_t audit_lost(const struct audit *x) {
    return x->lost;
}

/* ---- lines ---- */

/* A session with a pod changes it, though WebSockets ask for one with GET. */
static bool is_session(const struct api_request *q) {
    return str_is(q->subresource, "exec") || str_is(q->subresource, "attach") ||
           str_is(q->subresource, "portforward");
}

static bool is_read(const struct api_request *q) {
    if (is_session(q)) {
        return false;
    }
    return q->verb == VERB_GET || q->verb == VERB_LIST || q->verb == VERB_WATCH || !q->resource;
}

static bool is_sensitive(const struct api_request *q) {
    return str_is(q->plural, "secrets") || str_is(q->subresource, "log") ||
           str_is(q->subresource, "token");
}

static bool wanted(const struct audit *x, const struct audit_record *r) {
    const struct api_request *q = r->req;
    return x->reads || !is_read(q) || is_sensitive(q) || q->user.impersonated_by.n ||
           r->status == 401 || r->status == 403;
}

static void member(struct buf *b, const char *name, struct str value) {
    if (value.n) {
        buf_c(b, ",\"");
        buf_c(b, name);
        buf_c(b, "\":");
        buf_json(b, value);
    }
}

/* What ran where; a long command is cut, and says so. */
static void write_command(struct buf *b, const struct api_request *q) {
    struct str arg;
    size_t left = COMMAND_MAX, i = 0;
    member(b, "container", request_query(q, "container"));
    for (; left > 0 && request_query_nth(q, "command", i, &arg); i++) {
        buf_c(b, i ? "," : ",\"command\":[");
        buf_json(b, str_head(arg, left));
        left -= arg.n < left ? arg.n + 1 : left;
    }
    buf_c(b, left == 0 ? ",\"...\"" : "");
    buf_c(b, i > 0 ? "]" : "");
}

static void write_line(struct audit *x, const struct audit_record *r, struct buf *b) {
    const struct api_request *q = r->req;
    char when[TIME_TEXT_MAX];
    buf_c(b, "{\"seq\":");
    buf_u64(b, x->seq + 1);
    buf_c(b, ",\"time\":");
    buf_json(b, time_text_micro(r->started_ns, when));
    member(b, "id", r->audit_id);
    member(b, "user", q->user.name);
    member(b, "by", q->user.impersonated_by);
    member(b, "from", r->peer);
    member(b, "verb", q->verb_name);
    if (q->resource) {
        member(b, "group", q->group);
        member(b, "resource", q->plural);
        member(b, "subresource", q->subresource);
        member(b, "namespace", q->ns);
        member(b, "name", q->name);
        if (is_session(q)) {
            write_command(b, q);
        }
    } else {
        member(b, "path", q->path);
    }
    buf_c(b, q->opt.dry_run ? ",\"dryRun\":true" : "");
    buf_c(b, ",\"code\":");
    buf_i64(b, r->status);
    member(b, "reason", r->reason);
    member(b, "decision", r->decision);
    if (r->annotations.n > 0) {
        buf_f(b, ",\"annotations\":{%.*s}", STR_ARG(r->annotations));
    }
    buf_c(b, ",\"us\":");
    buf_i64(b, (r->ended_ns - r->started_ns) / 1000);
    if (r->revision) {
        buf_c(b, ",\"revision\":");
        buf_u64(b, r->revision);
    }
    if (x->lost_untold) {
        buf_c(b, ",\"lostBefore\":");
        buf_u64(b, x->lost_untold);
    }
    buf_c(b, ",\"prev\":\"");
    buf_c(b, x->last);
    buf_ch(b, '"');
}

void audit_add(struct audit *x, const struct audit_record *r) {
    struct buf *line = &x->line;
    char hash[AUDIT_HASH_TEXT + 1];
    if (!wanted(x, r)) {
        return;
    }
    buf_reset(line);
    write_line(x, r, line);
    tls_sha256_text(buf_view(line), hash);
    buf_str(line, HASH_MEMBER);
    buf_c(line, hash);
    buf_c(line, "\"}\n");
    bool fits = buf_ok(line) == 0 && buf_room(&x->pending, line->n) != NULL;
    if (fits) {
        buf_str(&x->pending, buf_view(line));
        memcpy(x->last, hash, sizeof(hash));
        x->seq++;
        x->lost_untold = 0;
    } else {
        x->pending.failed = 0;
        x->lost++;
        x->lost_untold++;
    }
    if (x->pending.n >= FLUSH_BYTES || x->timer == NULL) {
        audit_flush(x);
    } else if (!x->ticking) {
        x->ticking = true;
        x->clock->timer_start(x->timer, FLUSH_MS * NS_PER_MS);
    }
}

int audit_check(struct str text, const char *prev, char ret_last[AUDIT_HASH_TEXT + 1],
                struct err *err) {
    char last[AUDIT_HASH_TEXT + 1] = "", hash[AUDIT_HASH_TEXT + 1];
    struct str line;
    if (prev) {
        str_copy(str_of(prev), last, sizeof(last));
    }
    for (size_t n = 1; str_next(&text, '\n', &line); n++) {
        const char *at = line.n ? memmem(line.p, line.n, HASH_MEMBER.p, HASH_MEMBER.n) : NULL;
        struct str body = at ? str_head(line, (size_t)(at - line.p)) : line;
        struct str rest = str_skip(line, body.n + HASH_MEMBER.n);
        tls_sha256_text(body, hash);
        if (at == NULL || rest.n != AUDIT_HASH_TEXT + 2 ||
            !str_is(str_head(rest, AUDIT_HASH_TEXT), hash) || !str_ends(rest, STR("\"}"))) {
            return err_set(err, ERR_INVALID, "line %zu was changed or is torn", n);
        }
        if (last[0] && !str_is(between(line, STR("\"prev\":\""), '"'), last)) {
            return err_set(err, ERR_INVALID, "line %zu does not follow the line before", n);
        }
        memcpy(last, hash, sizeof(last));
    }
    if (ret_last) {
        memcpy(ret_last, last, sizeof(last));
    }
    return 0;
}

/* images: see images.h. */
#include "node/images/images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"

enum { BACKOFF_FIRST_S = 10, BACKOFF_MOST_S = 300, MOST_S = 3600, NOTE_S = 20, LINE_MOST = 4096 };

struct image_waiter {
    struct image_waiter *next;
    void (*told)(void *ctx, const struct image_news *news);
    void *ctx;
};

/* One image that is on its way, or waits for its turn. */
struct image_request {
    struct images *of;
    struct image_request *next;
    char *key, *ns, *name, *policy, *auth;
    bool if_reachable;
    struct image_waiter *waiters;
    struct loop_child *child;
    struct loop_fd *watch;
    int fd;
    struct buf in;
    struct timer *limit;
    char authfile[PATH_LEN];
    int64_t began_mono, noted_mono;
    bool pulling, answered, exited;
    enum image_answer end;
    char text[sizeof(((struct err *)0)->text)];
    int64_t bytes;
};

struct image_failure {
    char *key;
    int times;
    int64_t until_mono;
    char text[sizeof(((struct err *)0)->text)];
};

struct images {
    struct images_options o;
    struct clock *clock;
    struct image_request *requests; /* in the order of asking */
    struct map failures;
    unsigned running, waiting, files;
    /* What is answered at once is answered by it, not from within the question */
    struct timer *soon;
    struct image_late *lates; /* in the order of asking */
};

/* ---- what failed ---- */

static void forget(struct images *im, struct image_failure *f) {
    map_del(&im->failures, str_of(f->key));
    mem_free(f->key);
    mem_free(f);
}

/* Room for one more: those whose time is over go first. */
static void make_room(struct images *im) {
    const struct map_entry *e;

    for (size_t i = 0;
         map_count(&im->failures) >= IMAGES_FAILED && (e = map_next(&im->failures, &i));) {
        struct image_failure *f = e->value;
        if (f->until_mono <= clock_mono(im->clock)) {
            forget(im, f);
        }
    }
}

static void remember(struct images *im, const struct image_request *r) {
    struct image_failure *f = map_get(&im->failures, str_of(r->key));

    if (f == NULL) {
        make_room(im);
        f = map_count(&im->failures) < IMAGES_FAILED ? mem_zalloc(sizeof(*f)) : NULL;
        if (f == NULL || (f->key = mem_cstr(str_of(r->key))) == NULL ||
            map_put(&im->failures, str_of(f->key), f, NULL)) {
            if (f) {
                mem_free(f->key);
                mem_free(f);
            }
            return;
        }
    }
    int64_t wait = (int64_t)BACKOFF_FIRST_S << (f->times > 5 ? 5 : f->times);
    f->times++;
    f->until_mono =
        clock_mono(im->clock) + (wait > BACKOFF_MOST_S ? BACKOFF_MOST_S : wait) * NS_PER_SEC;
    snprintf(f->text, sizeof(f->text), "%s", r->text);
}

/* ---- one request ---- */

static void tell(struct image_request *r, const struct image_news *n) {
    for (struct image_waiter *w = r->waiters, *next; w; w = next) {
        next = w->next; /* who is told may ask again */
        w->told(w->ctx, n);
    }
}

static void request_free(struct image_request *r) {
    struct image_waiter *next;

    for (struct image_waiter *w = r->waiters; w; w = next) {
        next = w->next;
        mem_free(w);
    }
    if (r->child) {
        loop_child_free(r->child);
    }
    loop_fd_free(r->watch);
    if (r->fd != -1) {
        close(r->fd);
    }
    if (r->limit) {
        r->of->clock->timer_free(r->limit);
    }
    if (r->authfile[0]) {
        unlink(r->authfile);
    }
    buf_release(&r->in);
    mem_free(r->key);
    mem_free(r->ns);
    mem_free(r->name);
    mem_free(r->policy);
    mem_free(r->auth);
    mem_free(r);
}

static void unlink_request(struct image_request *r) {
    struct image_request **at = &r->of->requests;

    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
}

static void start_some(struct images *im);

/* It is over when its helper has ended and everything that it said is heard. */
static void finish(struct image_request *r) {
    struct images *im = r->of;

    if (!r->exited || r->fd != -1) {
        return;
    }
    struct image_news n = {
        .answer = r->answered ? r->end : IMAGE_FAILED,
        .text = r->answered ? str_of(r->text) : STR("the process that fetches the image was ended"),
        .bytes = r->bytes,
        .took_ns = clock_mono(im->clock) - r->began_mono};
    if (n.answer == IMAGE_FAILED) {
        str_copy(n.text, r->text, sizeof(r->text));
        remember(im, r);
    } else if (n.answer != IMAGE_ABSENT) {
        struct image_failure *f = map_get(&im->failures, str_of(r->key));
        if (f) {
            forget(im, f);
        }
    }
    unlink_request(r);
    im->running--;
    im->waiting--;
    tell(r, &n);
    request_free(r);
    start_some(im);
}

static void on_exit_of(void *ctx, int pid, int64_t status, int signal) {
    struct image_request *r = ctx;

    loop_child_free(TAKE(r->child));
    r->exited = true;
    finish(r);
}

static void set_end(struct image_request *r, enum image_answer end, struct str text) {
    r->answered = true;
    r->end = end;
    str_copy(str_head(text, sizeof(r->text) - 1), r->text, sizeof(r->text));
}

static void on_note(struct image_request *r, struct str text) {
    int64_t now = clock_mono(r->of->clock);
    const struct image_news n = {.answer = IMAGE_NOTE, .text = text};

    if (now - r->noted_mono >= NOTE_S * NS_PER_SEC) {
        r->noted_mono = now;
        tell(r, &n);
    }
}

static void on_line(struct image_request *r, struct str line) {
    struct str word, rest, bytes;

    str_cut(line, ' ', &word, &rest);
    if (str_is(word, "pulling")) {
        const struct image_news n = {.answer = IMAGE_PULLING};
        r->pulling = true;
        r->noted_mono = clock_mono(r->of->clock);
        tell(r, &n);
    } else if (str_is(word, "note")) {
        on_note(r, rest);
    } else if (str_is(word, "here") || str_is(word, "pulled")) {
        str_cut(rest, ' ', &word, &bytes);
        str_to_i64(bytes, &r->bytes);
        set_end(r, r->pulling ? IMAGE_PULLED : IMAGE_HERE, STR(""));
    } else if (str_is(word, "absent")) {
        set_end(r, IMAGE_ABSENT, STR(""));
    } else if (str_is(word, "failed") || str_is(word, "unreachable")) {
        set_end(r, IMAGE_FAILED, rest);
    }
}

static void on_output(void *ctx, int events) {
    struct image_request *r = ctx;
    char bytes[LINE_MOST];
    ptrdiff_t end;
    ssize_t n = read(r->fd, bytes, sizeof(bytes));

    if (n > 0) {
        buf_add(&r->in, bytes, (size_t)n);
    }
    while ((end = str_find(buf_view(&r->in), '\n')) >= 0) {
        on_line(r, str_head(buf_view(&r->in), (size_t)end));
        buf_consume(&r->in, (size_t)end + 1);
    }
    if (r->in.n >= LINE_MOST) {
        buf_reset(&r->in);
    }
    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        loop_fd_free(TAKE(r->watch));
        close(r->fd);
        r->fd = -1;
        finish(r);
    }
}

static void on_limit(void *ctx) {
    struct image_request *r = ctx;

    if (r->child) {
        loop_child_kill(r->child, SIGKILL);
    }
}

static int write_auth(struct image_request *r, struct err *err) {
    char name[32];

    if (r->auth[0] == 0) {
        return 0;
    }
    snprintf(name, sizeof(name), "auth-%u", r->of->files++);
    int code = file_store(r->of->o.dir, name, str_of(r->auth), 0600, err);
    return code ? code : path_join(r->authfile, r->of->o.dir, name, err);
}

static int start(struct image_request *r, struct err *err) {
    struct images *im = r->of;
    int pipes[2], code = write_auth(r, err);
    const char *argv[] = {im->o.program,
                          "image-get",
                          im->o.dir,
                          r->ns,
                          r->name,
                          r->policy,
                          r->authfile[0] ? r->authfile : "-",
                          r->if_reachable ? "if-reachable" : "may-pull",
                          im->o.hosts,
                          NULL};
    struct child_options o = {.file = im->o.program, .argv = argv, .n_fds = 3, .detached = true};

    if (code == 0 && pipe2(pipes, O_CLOEXEC) == -1) {
        code = err_sys(err, errno, "pipe");
    }
    if (code) {
        return code;
    }
    o.fds[0] = -1;
    o.fds[1] = pipes[1];
    o.fds[2] = STDERR_FILENO;
    code = loop_spawn(im->o.loop, &o, on_exit_of, r, &r->child, err);
    close(pipes[1]);
    r->fd = pipes[0];
    if (code) {
        return code;
    }
    fcntl(r->fd, F_SETFL, O_NONBLOCK);
    r->watch = loop_fd(im->o.loop, r->fd, LOOP_READABLE, on_output, r, err);
    r->limit = im->clock->timer_new(im->clock, on_limit, r);
    if (r->limit) {
        im->clock->timer_start(r->limit, MOST_S * NS_PER_SEC);
    }
    return r->watch ? 0 : ERR_NOMEM;
}

struct on_the_way {
    const struct image_request *v[IMAGES_MOST];
    int n;
};

static int of_namespace(const struct on_the_way *w, const char *ns) {
    int n = 0;

    for (int i = 0; i < w->n; i++) {
        n += strcmp(w->v[i]->ns, ns) == 0;
    }
    return n;
}

/* Whose turn it is; NULL: nobody's. */
static struct image_request *next_of(const struct images *im) {
    struct image_request *next = NULL;
    struct on_the_way way = {.n = 0};
    int fewest = im->running < IMAGES_AT_ONCE ? IMAGES_OF_ONE : im->running < IMAGES_MOST ? 1 : 0;

    for (const struct image_request *r = im->requests; r && way.n < IMAGES_MOST; r = r->next) {
        if (r->began_mono) {
            way.v[way.n++] = r;
        }
    }
    for (struct image_request *r = im->requests; r && fewest > 0; r = r->next) {
        int n = r->began_mono ? fewest : of_namespace(&way, r->ns);
        if (n < fewest) {
            fewest = n;
            next = r;
        }
    }
    return next;
}

static void start_some(struct images *im) {
    struct image_request *r;

    while ((r = next_of(im))) {
        struct err err = {0};
        r->began_mono = clock_mono(im->clock);
        im->running++;
        if (start(r, &err)) {
            set_end(r, IMAGE_FAILED, str_of(err.text));
            r->exited = r->child == NULL;
            if (r->child) { /* nobody hears it */
                loop_child_kill(r->child, SIGKILL);
            }
            if (r->fd != -1) {
                close(r->fd);
                r->fd = -1;
            }
            im->clock->timer_start(im->soon, 0);
        }
    }
}

/* ---- asking ---- */

struct image_late {
    struct image_late *next;
    struct image_waiter to;
    char text[sizeof(((struct err *)0)->text)];
};

/* One that could not be started; each time from the beginning, as who is told may ask. */
static struct image_request *over_already(const struct images *im) {
    for (struct image_request *r = im->requests; r; r = r->next) {
        if (r->began_mono && r->exited && r->fd == -1) {
            return r;
        }
    }
    return NULL;
}

static void on_soon(void *ctx) {
    struct images *im = ctx;
    struct image_late *l;
    struct image_request *r;

    while ((l = im->lates)) {
        const struct image_news n = {.answer = IMAGE_BACKOFF, .text = str_of(l->text)};
        im->lates = l->next;
        l->to.told(l->to.ctx, &n);
        mem_free(l);
    }
    while ((r = over_already(im))) {
        finish(r);
    }
}

static int answer_late(struct images *im, const struct image_failure *f,
                       const struct image_waiter *to) {
    struct image_late *l = mem_zalloc(sizeof(*l)), **at = &im->lates;

    if (l == NULL) {
        return ERR_NOMEM;
    }
    l->to = *to;
    snprintf(l->text, sizeof(l->text), "%s", f->text);
    while (*at) {
        at = &(*at)->next;
    }
    *at = l;
    im->clock->timer_start(im->soon, 0);
    return 0;
}

static struct image_request *request_new(struct images *im, const struct image_ask *a,
                                         const char *key) {
    struct image_request *r = mem_zalloc(sizeof(*r));

    if (r == NULL) {
        return NULL;
    }
    r->of = im;
    r->fd = -1;
    buf_init(&r->in, 4 * LINE_MOST);
    r->key = mem_cstr(str_of(key));
    r->ns = mem_cstr(a->ns);
    r->name = mem_cstr(a->name);
    r->policy = mem_cstr(a->policy);
    r->auth = mem_cstr(a->auth);
    r->if_reachable = a->if_reachable;
    if (r->key == NULL || r->ns == NULL || r->name == NULL || r->policy == NULL ||
        r->auth == NULL) {
        request_free(r);
        return NULL;
    }
    struct image_request **at = &im->requests;
    while (*at) {
        at = &(*at)->next;
    }
    *at = r;
    im->waiting++;
    return r;
}

static struct image_request *find(const struct images *im, const char *key,
                                  const struct image_ask *a) {
    for (struct image_request *r = im->requests; r; r = r->next) {
        if (strcmp(r->key, key) == 0 && str_is(a->policy, r->policy) && str_is(a->auth, r->auth) &&
            !r->answered) {
            return r;
        }
    }
    return NULL;
}

int images_ask(struct images *im, const struct image_ask *a,
               void (*told)(void *ctx, const struct image_news *news), void *ctx, struct err *err) {
    const struct image_waiter to = {.told = told, .ctx = ctx};
    char key[IMAGE_NAME_MAX + 256];
    struct image_waiter *w;

    snprintf(key, sizeof(key), "%.*s %.*s", STR_ARG(str_head(a->ns, 250)), STR_ARG(a->name));
    const struct image_failure *f = map_get(&im->failures, str_of(key));
    if (f && clock_mono(im->clock) < f->until_mono) {
        int late = answer_late(im, f, &to);
        return late ? err_set(err, late, "no memory") : 0;
    }
    struct image_request *r = find(im, key, a);
    if (r == NULL && im->waiting >= IMAGES_WAITING) {
        return err_set(err, ERR_TOO_MANY, "%d images are waited for already", IMAGES_WAITING);
    }
    w = mem_zalloc(sizeof(*w));
    r = r || w == NULL ? r : request_new(im, a, key);
    if (w == NULL || r == NULL) {
        mem_free(w);
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *w = to;
    w->next = r->waiters;
    r->waiters = w;
    start_some(im);
    return 0;
}

/* ---- life ---- */

/* Credentials of a node that was killed. */
static void remove_auth(const char *dir) {
    char path[PATH_LEN];
    struct dirent *e;
    DIR *d = opendir(dir);

    while (d && (e = readdir(d))) {
        if (str_starts(str_of(e->d_name), STR("auth-")) &&
            path_join(path, dir, e->d_name, NULL) == 0) {
            unlink(path);
        }
    }
    if (d) {
        closedir(d);
    }
}

struct images *images_new(const struct images_options *o, struct err *err) {
    struct images *im = dir_make(o->dir, 0700, err) ? NULL : mem_zalloc(sizeof(*im));

    if (im == NULL) {
        return NULL;
    }
    im->o = *o;
    im->clock = loop_clock(o->loop);
    map_init(&im->failures);
    remove_auth(o->dir);
    im->soon = im->clock->timer_new(im->clock, on_soon, im);
    if (im->soon == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        mem_free(im);
        return NULL;
    }
    return im;
}

void images_free(struct images *im) {
    const struct map_entry *e;

    if (im == NULL) {
        return;
    }
    im->clock->timer_free(im->soon);
    while (im->lates) {
        struct image_late *l = im->lates;
        im->lates = l->next;
        mem_free(l);
    }
    while (im->requests) {
        struct image_request *r = im->requests;
        im->requests = r->next;
        if (r->child) {
            loop_child_kill(r->child, SIGTERM);
        }
        request_free(r);
    }
    for (size_t i = 0; (e = map_next(&im->failures, &i));) {
        forget(im, e->value);
    }
    map_release(&im->failures);
    mem_free(im);
}

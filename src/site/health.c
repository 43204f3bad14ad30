/* health: see health.h. */
#include "site/health.h"

#include "base/mem.h"
#include "base/vec.h"

struct health_check {
    unsigned groups;
    const char *name;
    int (*check)(void *ctx, struct err *err);
    void *ctx;
};
VEC(check_vec, struct health_check);

struct health {
    struct check_vec checks;
};

static int ping(void *ctx, struct err *err) {
    return 0;
}

struct health *health_new(void) {
    struct health *h = mem_zalloc(sizeof *h);
    if (h && health_add(h, HEALTH_ALL, "ping", ping, NULL) != 0) {
        health_free(h);
        return NULL;
    }
    return h;
}

void health_free(struct health *h) {
    if (h) {
        check_vec_release(&h->checks);
        mem_free(h);
    }
}

int health_add(struct health *h, unsigned groups, const char *name,
               int (*check)(void *ctx, struct err *err), void *ctx) {
    return check_vec_push(&h->checks, (struct health_check){groups, name, check, ctx});
}

static bool listed(struct str list, const char *name) {
    struct str part;
    while (str_next(&list, ',', &part)) {
        if (str_is(part, name)) {
            return true;
        }
    }
    return false;
}

static unsigned groups_of(const char *path) {
    struct str p = str_of(path);
    return str_is(p, "livez") ? HEALTH_LIVE : str_is(p, "readyz") ? HEALTH_READY : HEALTH_ALL;
}

bool health_report(const struct health *h, const char *path, struct str only, struct str exclude,
                   bool verbose, struct buf *out, bool *ret_unknown) {
    struct buf lines;
    bool well = true, any = false;
    buf_init(&lines, 1 << 16);
    for (size_t i = 0; i < h->checks.n; i++) {
        const struct health_check *c = &h->checks.v[i];
        if (!(c->groups & groups_of(path)) || (!str_empty(only) && !str_is(only, c->name))) {
            continue;
        }
        any = true;
        if (listed(exclude, c->name)) {
            buf_f(&lines, "[+]%s excluded: ok\n", c->name);
            continue;
        }
        bool good = c->check(c->ctx, NULL) == 0;
        buf_f(&lines, good ? "[+]%s ok\n" : "[-]%s failed: reason withheld\n", c->name);
        well &= good;
    }
    if (ret_unknown) {
        *ret_unknown = !any;
    }
    if (verbose || !well) {
        buf_str(out, buf_view(&lines));
        buf_f(out, "%s check %s\n", path, well ? "passed" : "failed");
    } else {
        buf_c(out, "ok");
    }
    buf_release(&lines);
    return well && any;
}

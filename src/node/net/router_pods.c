/* router_pods: the pods that have a link to the router. See router.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "node/net/router.h"

static void free_pod(struct router *r, struct router_pod *p, bool ended) {
    rules_pod(&r->rules, p->ip, false);
    link_pool_give(&r->links, p->link, ended);
    mem_free(p);
}

int router_attach(struct router *r, struct str uid, struct str ns, uint32_t ip,
                  struct router_pod **ret, struct err *err) {
    struct router_pod *p = map_get(&r->pods, uid);

    if (p) {
        *ret = p;
        return 0;
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    p->ip = ip;
    int code = path_plain(uid) && str_copy(uid, p->uid, sizeof(p->uid))
                   ? 0
                   : err_set(err, ERR_INVALID, "not a pod's uid");
    code = code ? code : link_pool_take(&r->links, ns, ip, &p->link, err);
    if (code == 0 && map_put(&r->pods, str_of(p->uid), p, NULL)) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    if (code) {
        free_pod(r, p, false);
        return code;
    }
    rules_pod(&r->rules, ip, true);
    router_changed(r);
    router_fill(r);
    *ret = p;
    return 0;
}

void router_adopt(struct router *r, struct str uid, uint32_t ip) {
    struct router_pod *p = map_get(&r->pods, uid) ? NULL : mem_zalloc(sizeof(*p));

    if (p == NULL) {
        return;
    }
    p->ip = ip;
    if (!str_copy(uid, p->uid, sizeof(p->uid)) || map_put(&r->pods, str_of(p->uid), p, NULL)) {
        mem_free(p);
        return;
    }
    rules_pod(&r->rules, ip, true);
    router_changed(r);
}

void router_detach(struct router *r, struct str uid, bool ended) {
    struct router_pod *p = map_del(&r->pods, uid);

    if (p) {
        free_pod(r, p, ended);
        router_changed(r);
    }
}

void router_pods_release(struct router *r) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&r->pods, &i));) {
        free_pod(r, e->value, false);
    }
    map_release(&r->pods);
    link_pool_release(&r->links);
}

/* A shim holds the lock of its pod's folder for as long as it lives. */
static bool has_shim(const struct router *r, const struct router_pod *p) {
    char path[PATH_LEN];

    if (snprintf(path, sizeof(path), "%s/pods/%s/lock", r->o.data_dir, p->uid) >=
        (int)sizeof(path)) {
        return false;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return false;
    }
    bool held = flock(fd, LOCK_SH | LOCK_NB) == -1 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

bool router_pods_sweep(struct router *r) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&r->pods, &i));) {
        struct router_pod *p = e->value;
        if (!has_shim(r, p)) {
            router_detach(r, str_of(p->uid), false);
            i = 0;
        }
    }
    return map_count(&r->pods) == 0;
}

/* router_pods: the namespaces of pods and the links to them. See router.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "node/net/router.h"
#include "node/net/rtnl.h"

static void setting(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd != -1) {
        (void)!write(fd, value, strlen(value));
        close(fd);
    }
}

/* In the new namespace, which is the thread's for a moment. */
static int furnish(int *ret_ns, int *ret_netlink, struct err *err) {
    *ret_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (*ret_ns == -1) {
        return err_sys(err, errno, "/proc/self/ns/net");
    }
    /* Addresses are IPv4 alone; a link without IPv6 has no way around the rules. Low ports are a pod's own. */
    setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    setting("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
    *ret_netlink = rtnl_open(err);
    return *ret_netlink == -1 ? ERR_IO : rtnl_up(*ret_netlink, RTNL_LOOPBACK, err);
}

static int make_namespace(struct router *r, int *ret_ns, int *ret_netlink, struct err *err) {
    if (unshare(CLONE_NEWNET) == -1) {
        return err_sys(err, errno, "make a network namespace");
    }
    int code = furnish(ret_ns, ret_netlink, err);
    if (setns(r->ns_fd, CLONE_NEWNET) == -1) {
        abort(); /* everything after it would happen in the wrong network */
    }
    return code;
}

static void link_name(uint32_t ip, char out[16]) {
    snprintf(out, 16, "pod%08x", ip);
}

static int connect_pod(struct router *r, const struct router_pod *p, int netlink, struct err *err) {
    uint32_t gateway = router_gateway(&r->o);
    char name[16];
    int link = 0;

    link_name(p->ip, name);
    int code = rtnl_remove(r->netlink, name, err); /* of a pod that had this address before */
    code = code ? code : rtnl_veth(r->netlink, name, p->ns_fd, &link, err);
    code = code ? code : rtnl_up(r->netlink, link, err);
    code = code ? code : rtnl_route(r->netlink, link, p->ip, 32, 0, err);
    code = code ? code : rtnl_address(netlink, RTNL_PEER, p->ip, err);
    code = code ? code : rtnl_up(netlink, RTNL_PEER, err);
    code = code ? code : rtnl_route(netlink, RTNL_PEER, gateway, 32, 0, err);
    return code ? code : rtnl_route(netlink, RTNL_PEER, 0, 0, gateway, err);
}

/* The kernel takes the links away with the namespace, when nobody is in it any more: in its own time, many at once. To
 * ask for it would take some 30 ms of this thread for each. */
static void free_pod(struct router *r, struct router_pod *p) {
    rules_pod(&r->rules, p->ip, false);
    if (p->ns_fd != -1) {
        close(p->ns_fd);
    }
    mem_free(p);
}

int router_attach(struct router *r, struct str uid, uint32_t ip, struct router_pod **ret,
                  struct err *err) {
    struct router_pod *p = map_get(&r->pods, uid);
    int netlink = -1;

    if (p) {
        *ret = p;
        return 0;
    }
    p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *p = (struct router_pod){.ip = ip, .ns_fd = -1};
    int code = path_plain(uid) && str_copy(uid, p->uid, sizeof(p->uid))
                   ? 0
                   : err_set(err, ERR_INVALID, "not a pod's uid");
    code = code ? code : make_namespace(r, &p->ns_fd, &netlink, err);
    code = code ? code : connect_pod(r, p, netlink, err);
    if (netlink != -1) {
        close(netlink);
    }
    if (code == 0 && map_put(&r->pods, str_of(p->uid), p, NULL)) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    if (code) {
        free_pod(r, p);
        return code;
    }
    rules_pod(&r->rules, ip, true);
    router_changed(r);
    *ret = p;
    return 0;
}

void router_adopt(struct router *r, struct str uid, uint32_t ip) {
    struct router_pod *p = map_get(&r->pods, uid) ? NULL : mem_zalloc(sizeof(*p));

    if (p == NULL) {
        return;
    }
    *p = (struct router_pod){.ip = ip, .ns_fd = -1};
    if (!str_copy(uid, p->uid, sizeof(p->uid)) || map_put(&r->pods, str_of(p->uid), p, NULL)) {
        mem_free(p);
        return;
    }
    rules_pod(&r->rules, ip, true);
    router_changed(r);
}

void router_detach(struct router *r, struct str uid) {
    struct router_pod *p = map_del(&r->pods, uid);

    if (p) {
        free_pod(r, p);
        router_changed(r);
    }
}

void router_pods_release(struct router *r) {
    const struct map_entry *e;

    for (size_t i = 0; (e = map_next(&r->pods, &i));) {
        free_pod(r, e->value);
    }
    map_release(&r->pods);
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
            router_detach(r, str_of(p->uid));
            i = 0;
        }
    }
    return map_count(&r->pods) == 0;
}

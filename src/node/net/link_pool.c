/* link_pool: see link_pool.h. */
#include "node/net/link_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/net/rtnl.h"

/* ---- in another namespace, which is the thread's for a moment ---- */

static void come_back(const struct link_pool *l) {
    if (setns(l->ns_fd, CLONE_NEWNET) == -1) {
        abort(); /* everything after it would happen in the wrong network */
    }
}

static void setting(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd != -1) {
        (void)!write(fd, value, strlen(value));
        close(fd);
    }
}

static int furnish(struct pod_link *k, struct err *err) {
    k->ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (k->ns_fd == -1) {
        return err_sys(err, errno, "/proc/self/ns/net");
    }
    /* Addresses are IPv4 alone; a link without IPv6 has no way around the rules. Low ports are a pod's own. */
    setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    setting("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    setting("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
    k->netlink = rtnl_open(err);
    return k->netlink == -1 ? ERR_IO : rtnl_up(k->netlink, RTNL_LOOPBACK, err);
}

/* The address before is let go after the new one is there: routes would go with the last one. */
static int change_address(const struct link_pool *l, struct pod_link *k, uint32_t ip,
                          struct err *err) {
    uint32_t before = k->ip;
    int code = rtnl_address(k->netlink, RTNL_PEER, ip, err);

    k->ip = code ? before : ip;
    if (code || before) {
        return code ? code : rtnl_address_remove(k->netlink, RTNL_PEER, before, err);
    }
    code = rtnl_route(k->netlink, RTNL_PEER, l->gateway, 32, 0, err);
    return code ? code : rtnl_route(k->netlink, RTNL_PEER, 0, 0, l->gateway, err);
}

/* ---- is it as good as new ---- */

static struct str load(const char *path, char *out, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, out, cap);

    if (fd != -1) {
        close(fd);
    }
    return str_from(out, n > 0 ? (size_t)n : 0);
}

/* "sockets: used 1", "TCP: inuse 0 orphan 3 tw 0 alloc 9 mem 1", "FRAG: inuse 0 memory 0": what counts the namespace
 * alone must be zero, but for our own socket in it; orphan, alloc and mem count the machine. */
static bool no_sockets(struct str text) {
    static const char *const own[] = {"used", "inuse", "tw"};
    struct str line, word, count;
    bool found = false;
    int64_t n;

    while (str_next(&text, '\n', &line)) {
        str_next(&line, ' ', &word);
        while (str_next(&line, ' ', &word) && str_next(&line, ' ', &count)) {
            for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
                int64_t ours = i == 0;
                if (str_is(word, own[i]) && (!str_to_i64(count, &n) || n != ours)) {
                    return false;
                }
            }
            found |= str_is(word, own[0]);
        }
    }
    return found;
}

/* Two lines of headings, then "  eth0: BYTES PACKETS ..." (received, eight numbers), then what was sent. */
static bool no_traffic(struct str text) {
    struct str line, word;
    int lines = 0, interfaces = 0;

    while (str_next(&text, '\n', &line)) {
        if (lines++ < 2 || str_empty(line)) {
            continue;
        }
        ptrdiff_t colon = str_find(line, ':');
        struct str numbers = str_skip(line, colon < 0 ? line.n : (size_t)colon + 1);
        while (str_next(&numbers, ' ', &word)) {
            if (word.n && !str_is(word, "0")) {
                return false;
            }
        }
        interfaces++;
    }
    return interfaces == 2;
}

static bool untouched(const struct link_pool *l, const struct pod_link *k) {
    char text[4096];

    if (setns(k->ns_fd, CLONE_NEWNET) == -1) {
        return false;
    }
    bool quiet = no_sockets(load("/proc/thread-self/net/sockstat", text, sizeof(text))) &&
                 no_traffic(load("/proc/thread-self/net/dev", text, sizeof(text)));
    come_back(l);
    return quiet;
}

/* ---- life ---- */

static void free_link(struct pod_link *k) {
    if (k) {
        /* The kernel takes the link away with the namespace, when nobody is in it any more: in its own time, many at
         * once. To ask for it would take some 30 ms of this thread for each. */
        if (k->ns_fd != -1) {
            close(k->ns_fd);
        }
        if (k->netlink != -1) {
            close(k->netlink);
        }
        mem_free(k);
    }
}

/* A name that no other link has: the number of the namespace that it leads to. */
static int connect_to(const struct link_pool *l, struct pod_link *k, struct err *err) {
    char name[16];
    struct stat st;

    if (fstat(k->ns_fd, &st) == -1) {
        return err_sys(err, errno, "a pod's network namespace");
    }
    snprintf(name, sizeof(name), "pod%08x", (unsigned)st.st_ino);
    return rtnl_veth(l->netlink, name, k->ns_fd, &k->index, err);
}

static int make(const struct link_pool *l, struct pod_link **ret, struct err *err) {
    struct pod_link *k = mem_zalloc(sizeof(*k));

    if (k == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    k->ns_fd = k->netlink = -1;
    int code = unshare(CLONE_NEWNET) == -1 ? err_sys(err, errno, "make a network namespace") : 0;
    if (code == 0) {
        code = furnish(k, err);
        come_back(l);
    }
    code = code ? code : connect_to(l, k, err);
    code = code ? code : rtnl_up(k->netlink, RTNL_PEER, err);
    if (code) {
        free_link(k);
        return code;
    }
    *ret = k;
    return 0;
}

static void put_spare(struct link_pool *l, struct pod_link *k) {
    k->next = l->spare;
    l->spare = k;
    l->n_spare++;
    l->n_fresh += k->owner[0] == 0;
}

/* One of this owner's pods, else a fresh one; NULL: neither is there. */
static struct pod_link *pick(struct link_pool *l, struct str owner) {
    struct pod_link **best = NULL;

    for (struct pod_link **at = &l->spare; *at; at = &(*at)->next) {
        if (str_is(owner, (*at)->owner)) {
            best = at;
            break;
        }
        best = (*at)->owner[0] == 0 ? at : best;
    }
    if (best == NULL) {
        return NULL;
    }
    struct pod_link *k = *best;
    *best = k->next;
    l->n_spare--;
    l->n_fresh -= k->owner[0] == 0;
    return k;
}

int link_pool_take(struct link_pool *l, struct str owner, uint32_t ip, struct pod_link **ret,
                   struct err *err) {
    char name[LINK_OWNER];

    if (str_empty(owner) || !str_copy(owner, name, sizeof(name))) {
        return err_set(err, ERR_INVALID, "not the name of a namespace");
    }
    struct pod_link *k = pick(l, owner);
    int code = k ? 0 : make(l, &k, err);
    code = code || k->ip == ip ? code : change_address(l, k, ip, err);
    code = code ? code : rtnl_route(l->netlink, k->index, ip, 32, 0, err);
    if (code) {
        free_link(k);
        return code;
    }
    memcpy(k->owner, name, sizeof(name));
    *ret = k;
    return 0;
}

void link_pool_give(struct link_pool *l, struct pod_link *k, bool ended) {
    if (k == NULL) {
        return;
    }
    if (ended && l->n_spare < LINK_POOL_SPARE_MAX && untouched(l, k) &&
        rtnl_route_remove(l->netlink, k->index, k->ip, 32, NULL) == 0) {
        put_spare(l, k);
    } else {
        free_link(k);
    }
}

/* Room for a fresh one: the spare one that was given back longest ago goes. */
static void make_room(struct link_pool *l) {
    struct pod_link **oldest = NULL;

    for (struct pod_link **at = &l->spare; *at; at = &(*at)->next) {
        oldest = (*at)->owner[0] ? at : oldest;
    }
    if (l->n_spare >= LINK_POOL_SPARE_MAX && oldest) {
        struct pod_link *k = *oldest;
        *oldest = k->next;
        l->n_spare--;
        free_link(k);
    }
}

bool link_pool_fill(struct link_pool *l) {
    struct pod_link *k;

    if (l->n_fresh >= LINK_POOL_AHEAD) {
        return false;
    }
    make_room(l);
    if (make(l, &k, NULL)) {
        return false;
    }
    put_spare(l, k);
    return l->n_fresh < LINK_POOL_AHEAD;
}

void link_pool_release(struct link_pool *l) {
    while (l->spare) {
        struct pod_link *k = l->spare;
        l->spare = k->next;
        free_link(k);
    }
    l->n_spare = l->n_fresh = 0;
}

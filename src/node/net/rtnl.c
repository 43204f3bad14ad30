/* rtnl: see rtnl.h. Each request is one message with an acknowledgement; only the list of routes is a dump. */
#include "node/net/rtnl.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 512, DUMP_BYTES = 65536 };

struct rtnl_request {
    struct nlmsghdr h;
    char body[ROOM];
};

int rtnl_open(struct err *err) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    return fd == -1 ? (err_sys(err, errno, "rtnetlink"), -1) : fd;
}

static struct rtnl_request begin(int type, int flags, const void *head, size_t n) {
    struct rtnl_request r = {.h = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(n),
                                   .nlmsg_type = (uint16_t)type,
                                   .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)}};

    memcpy(r.body, head, n);
    return r;
}

static struct rtattr *add(struct rtnl_request *r, int type, const void *data, size_t n) {
    size_t at = NLMSG_ALIGN(r->h.nlmsg_len);
    struct rtattr *a = (struct rtattr *)(void *)((char *)&r->h + at);

    assert(at + RTA_SPACE(n) <= sizeof(*r));
    a->rta_type = (unsigned short)type;
    a->rta_len = (unsigned short)RTA_LENGTH(n);
    if (n) {
        memcpy(RTA_DATA(a), data, n);
    }
    r->h.nlmsg_len = (uint32_t)(at + RTA_ALIGN(a->rta_len));
    return a;
}

static void nest_end(struct rtnl_request *r, struct rtattr *a) {
    a->rta_len = (unsigned short)((char *)&r->h + r->h.nlmsg_len - (char *)a);
}

/* 0 or the errno that the kernel answers with. */
static int ask(int fd, struct rtnl_request *r) {
    char in[4096] __attribute__((aligned(8)));
    struct nlmsghdr *h = (struct nlmsghdr *)(void *)in;

    r->h.nlmsg_flags |= NLM_F_ACK;
    if (send(fd, r, r->h.nlmsg_len, 0) == -1) {
        return errno;
    }
    for (;;) {
        ssize_t n = recv(fd, in, sizeof(in), 0);
        if (n == -1 && errno == EINTR) {
            continue;
        }
        if (n == -1) {
            return errno;
        }
        if (NLMSG_OK(h, (size_t)n) && h->nlmsg_type == NLMSG_ERROR) {
            return -((struct nlmsgerr *)NLMSG_DATA(h))->error;
        }
    }
}

static int told(int code, struct err *err, const char *what) {
    return code ? err_sys(err, code, "%s", what) : 0;
}

int rtnl_up(int fd, int link, struct err *err) {
    const struct ifinfomsg i = {.ifi_index = link, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct rtnl_request r = begin(RTM_NEWLINK, 0, &i, sizeof(i));

    return told(ask(fd, &r), err, "bring a network link up");
}

static int link_index(int fd, const char *name) {
    const struct ifinfomsg i = {0};
    struct rtnl_request r = begin(RTM_GETLINK, 0, &i, sizeof(i));
    char in[16384] __attribute__((aligned(8)));
    struct nlmsghdr *h = (struct nlmsghdr *)(void *)in;

    add(&r, IFLA_IFNAME, name, strlen(name) + 1);
    if (send(fd, &r, r.h.nlmsg_len, 0) == -1) {
        return 0;
    }
    ssize_t n = recv(fd, in, sizeof(in), 0);
    return n > 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_type == RTM_NEWLINK
               ? ((struct ifinfomsg *)NLMSG_DATA(h))->ifi_index
               : 0;
}

int rtnl_veth(int fd, const char *name, int ns_fd, int *ret_link, struct err *err) {
    const struct ifinfomsg i = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP},
                           peer = {.ifi_index = RTNL_PEER};
    struct rtnl_request r = begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &i, sizeof(i));

    add(&r, IFLA_IFNAME, name, strlen(name) + 1);
    struct rtattr *info = add(&r, IFLA_LINKINFO, NULL, 0);
    add(&r, IFLA_INFO_KIND, "veth", 4);
    struct rtattr *data = add(&r, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *other = add(&r, VETH_INFO_PEER, &peer, sizeof(peer));
    add(&r, IFLA_IFNAME, "eth0", 5);
    add(&r, IFLA_NET_NS_FD, &ns_fd, sizeof(ns_fd));
    nest_end(&r, other);
    nest_end(&r, data);
    nest_end(&r, info);
    int code = ask(fd, &r);
    if (code) {
        return told(code, err, "make a pair of network links (veth)");
    }
    *ret_link = link_index(fd, name);
    return *ret_link ? 0 : err_set(err, ERR_INTERNAL, "network link %s is not there", name);
}

static int address(int fd, int type, int flags, int link, uint32_t ip) {
    const struct ifaddrmsg m = {
        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = (unsigned)link};
    struct rtnl_request r = begin(type, flags, &m, sizeof(m));
    uint32_t wire = htonl(ip);

    add(&r, IFA_LOCAL, &wire, sizeof(wire));
    add(&r, IFA_ADDRESS, &wire, sizeof(wire));
    return ask(fd, &r);
}

int rtnl_address(int fd, int link, uint32_t ip, struct err *err) {
    return told(address(fd, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, link, ip), err,
                "give a network link its address");
}

int rtnl_address_remove(int fd, int link, uint32_t ip, struct err *err) {
    return told(address(fd, RTM_DELADDR, 0, link, ip), err, "take a network link its address");
}

static int route(int fd, int type, int flags, int link, uint32_t dst, int bits, uint32_t via) {
    const struct rtmsg m = {.rtm_family = AF_INET,
                            .rtm_dst_len = (unsigned char)bits,
                            .rtm_table = RT_TABLE_MAIN,
                            .rtm_protocol = RTPROT_STATIC,
                            .rtm_scope = via ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
                            .rtm_type = RTN_UNICAST};
    struct rtnl_request r = begin(type, flags, &m, sizeof(m));
    uint32_t to = htonl(dst), next = htonl(via);

    if (bits) {
        add(&r, RTA_DST, &to, sizeof(to));
    }
    if (via) {
        add(&r, RTA_GATEWAY, &next, sizeof(next));
    }
    add(&r, RTA_OIF, &link, sizeof(link));
    return ask(fd, &r);
}

int rtnl_route(int fd, int link, uint32_t dst, int bits, uint32_t via, struct err *err) {
    return told(route(fd, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, link, dst, bits, via), err,
                "add a route");
}

int rtnl_route_remove(int fd, int link, uint32_t dst, int bits, struct err *err) {
    int code = route(fd, RTM_DELROUTE, 0, link, dst, bits, 0);

    return code == ESRCH ? 0 : told(code, err, "remove a route");
}

static void one_route(struct nlmsghdr *h, void (*each)(void *ctx, uint32_t dst, int bits),
                      void *ctx) {
    const struct rtmsg *m = NLMSG_DATA(h);
    size_t left = RTM_PAYLOAD(h);

    if (h->nlmsg_type != RTM_NEWROUTE || m->rtm_table != RT_TABLE_MAIN || m->rtm_dst_len == 0) {
        return;
    }
    for (struct rtattr *a = RTM_RTA(m); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        uint32_t to;
        if (a->rta_type == RTA_DST && RTA_PAYLOAD(a) == sizeof(to)) {
            memcpy(&to, RTA_DATA(a), sizeof(to));
            each(ctx, ntohl(to), m->rtm_dst_len);
        }
    }
}

int rtnl_routes(int fd, void (*each)(void *ctx, uint32_t dst, int bits), void *ctx,
                struct err *err) {
    const struct rtmsg m = {.rtm_family = AF_INET};
    struct rtnl_request r = begin(RTM_GETROUTE, NLM_F_DUMP, &m, sizeof(m));
    static char in[DUMP_BYTES] __attribute__((aligned(8)));

    if (send(fd, &r, r.h.nlmsg_len, 0) == -1) {
        return err_sys(err, errno, "list routes");
    }
    for (;;) {
        ssize_t k = recv(fd, in, sizeof(in), 0);
        if (k <= 0) {
            return err_sys(err, errno, "list routes");
        }
        size_t n = (size_t)k;
        for (struct nlmsghdr *h = (struct nlmsghdr *)(void *)in; NLMSG_OK(h, n);
             h = NLMSG_NEXT(h, n)) {
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                return 0;
            }
            one_route(h, each, ctx);
        }
    }
}

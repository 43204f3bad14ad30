/*
 * router: the start of the router's two processes, and the worker's life. See router.h.
 *
 * Who starts it reads one line on descriptor 3: "ok", or why it cannot be.
 */
#include "node/net/router.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "node/net/api_way.h"
#include "node/net/nft.h"
#include "node/net/ports.h"
#include "node/net/resolver.h"
#include "node/net/rtnl.h"
#include "node/node.h"

enum { REPORT = 3, BACKLOG = 64, IDLE_MS = 5000, IDLE_ROUNDS = 2, FILL_MS = 20 };

uint32_t router_gateway(const struct router_options *o) {
    return o->pods + 1;
}

uint32_t router_api(const struct router_options *o) {
    return o->services + 1;
}

/* ---- the worker's own namespaces ---- */

static int store(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : write(fd, text, strlen(text));

    if (fd != -1) {
        close(fd);
    }
    return n == -1 ? errno : 0;
}

/* A user namespace first, so that not even root's router has rights over the machine's network. */
static int enter(struct router *r, const struct router_spaces *in, struct err *err) {
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (in->net != -1) {
        r->own_user = in->user != -1;
        if ((r->own_user && setns(in->user, CLONE_NEWUSER) == -1) ||
            setns(in->net, CLONE_NEWNET) == -1) {
            return err_sys(err, errno, "enter the network namespace again");
        }
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        return 0;
    }
    r->own_user = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!r->own_user && (uid != 0 || unshare(CLONE_NEWNET) == -1)) {
        return err_sys(err, errno, "make a user namespace and a network namespace");
    }
    prctl(PR_SET_DUMPABLE, 1, 0, 0,
          0); /* the node, and shims, open what is below /proc of this process */
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (!r->own_user) {
        return 0;
    }
    store("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "0 %u 1", uid);
    int error = store("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "0 %u 1", gid);
    error = error ? error : store("/proc/self/gid_map", map);
    return error ? err_sys(err, error, "map the user into a user namespace") : 0;
}

static int furnish(struct router *r, struct err *err) {
    r->ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    r->netlink = r->ns_fd == -1 ? -1 : rtnl_open(err);
    if (r->netlink == -1) {
        return err_set(err, ERR_IO, "no network namespace");
    }
    r->links = (struct link_pool){
        .ns_fd = r->ns_fd, .netlink = r->netlink, .gateway = router_gateway(&r->o)};
    store("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    store("/proc/sys/net/ipv4/conf/all/send_redirects", "0");
    int error = store("/proc/sys/net/ipv4/conf/all/rp_filter", "1");
    error = error ? error : store("/proc/sys/net/ipv4/conf/default/rp_filter", "1");
    error = error ? error : store("/proc/sys/net/ipv4/ip_forward", "1");
    if (error) {
        return err_sys(err, error, "settings of the network namespace (/proc/sys/net)");
    }
    int code = rtnl_up(r->netlink, RTNL_LOOPBACK, err);
    code = code ? code : rtnl_address(r->netlink, RTNL_LOOPBACK, router_gateway(&r->o), err);
    code = code ? code : rtnl_address(r->netlink, RTNL_LOOPBACK, router_api(&r->o), err);
    /* Where a Service really is the rules decide, once there is a route at all. */
    return code ? code
                : rtnl_route(r->netlink, RTNL_LOOPBACK, r->o.services, r->o.services_bits, 0, err);
}

static int first_rules(struct router *r, struct err *err) {
    struct buf text;

    r->nft = nft_new(err);
    if (r->nft == NULL) {
        return ERR_UNSUPPORTED;
    }
    r->rules = (struct net_rules){.pods = r->o.pods,
                                  .pods_bits = r->o.pods_bits,
                                  .services = r->o.services,
                                  .services_bits = r->o.services_bits};
    buf_init(&text, 0);
    rules_whole(&r->rules, &text);
    int code = nft_apply(r->nft, &text, err);
    buf_release(&text);
    return code;
}

/* ---- changes ---- */

static void complain(const struct err *err) {
    fprintf(stderr, "berth router: %s\n", err->text);
}

static void apply(void *ctx) {
    struct router *r = ctx;
    struct err err;
    struct buf text;

    r->apply_soon = false;
    buf_init(&text, 0);
    int code = rules_take(&r->rules, &text);
    if (code == 0 && text.n) {
        code = nft_apply(r->nft, &text, &err);
        if (code) {
            complain(&err);
        }
    }
    if (code) {
        buf_reset(&text);
        rules_whole(&r->rules, &text);
        if (nft_apply(r->nft, &text, &err)) {
            complain(&err);
        }
    }
    buf_release(&text);
    ports_follow(r->ports);
}

void router_changed(struct router *r) {
    if (!r->apply_soon) {
        r->apply_soon = loop_defer(r->loop, apply, r) == 0;
    }
}

static void on_service(void *ctx, const struct model_service *was,
                       const struct model_service *now) {
    struct router *r = ctx;

    rules_service(&r->rules, was, now);
    router_changed(r);
}

static void on_wall(void *ctx, const struct model_wall *was, const struct model_wall *now) {
    struct router *r = ctx;

    rules_wall(&r->rules, was, now);
    router_changed(r);
}

static void on_pod(void *ctx, const struct model_pod *was, const struct model_pod *now) {
    struct router *r = ctx;

    rules_walls_of_pod(&r->rules, was, now);
    router_changed(r);
}

/* ---- the worker's life ---- */

void router_fill(struct router *r) {
    loop_clock(r->loop)->timer_start(r->filler, FILL_MS * NS_PER_MS);
}

static void on_fill(void *ctx) {
    struct router *r = ctx;

    if (link_pool_fill(&r->links)) {
        router_fill(r);
    }
}

static void on_idle(void *ctx) {
    struct router *r = ctx;
    struct clock *c = loop_clock(r->loop);

    bool alone = !router_serve_busy(r) && router_pods_sweep(r);
    r->idle_rounds = alone ? r->idle_rounds + 1 : 0;
    if (r->idle_rounds > IDLE_ROUNDS) {
        loop_stop(r->loop);
        return;
    }
    c->timer_start(r->idle, IDLE_MS * NS_PER_MS);
}

static void on_signal(void *ctx, int signum) {
    struct router *r = ctx;

    (void)signum;
    loop_stop(r->loop);
}

static int begin(struct router *r, const struct router_spaces *in, int listen_fd, struct err *err) {
    int code = enter(r, in, err);

    code = code ? code : furnish(r, err);
    code = code ? code : first_rules(r, err);
    if (code) {
        return code;
    }
    r->loop = loop_new(err);
    if (r->loop == NULL) {
        return ERR_NOMEM;
    }
    r->model.service = on_service;
    r->model.wall = on_wall;
    r->model.pod = on_pod;
    r->model.ctx = r;
    struct clock *c = loop_clock(r->loop);
    r->idle = c->timer_new(c, on_idle, r);
    r->filler = c->timer_new(c, on_fill, r);
    r->ports = ports_new(r);
    r->api = api_way_new(r);
    if (r->idle == NULL || r->filler == NULL || r->ports == NULL || r->api == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    if (r->o.uplink) {
        struct err why;
        r->uplink = outside_uplink(&r->outside, r->own_user, &why) == 0;
        if (!r->uplink && r->o.uplink_wanted) {
            *err = why;
            return why.code;
        }
    }
    code = resolver_start(r, &r->resolver, err);
    code = code ? code : router_serve_start(r, listen_fd, err);
    if (code == 0) {
        outside_hold(&r->outside, r->own_user);
    }
    c->timer_start(r->idle, IDLE_MS * NS_PER_MS);
    router_fill(r);
    return code;
}

static void report(const struct err *err) {
    char line[600];
    int n = snprintf(line, sizeof(line), "%s\n", err ? err->text : "ok");

    (void)!write(REPORT, line, (size_t)n);
    close(REPORT);
}

static int work(struct router *r, const struct router_spaces *in, int listen_fd) {
    struct loop_signal *term = NULL;
    struct err err = {0};

    prctl(PR_SET_NAME, "berth-router", 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    int code = begin(r, in, listen_fd, &err);
    if (in->net == -1) {
        report(code ? &err : NULL);
    } else if (code) {
        complain(&err);
    }
    if (code == 0) {
        term = loop_signal(r->loop, SIGTERM, on_signal, r, &err);
        loop_run(r->loop);
        loop_signal_free(term);
    }
    router_serve_free(r->serve);
    resolver_free(r->resolver);
    ports_free(r->ports);
    api_way_free(r->api);
    router_pods_release(r);
    model_release(&r->model);
    rules_release(&r->rules);
    nft_free(r->nft);
    if (r->loop) {
        loop_clock(r->loop)->timer_free(r->idle);
        loop_clock(r->loop)->timer_free(r->filler);
        loop_free(r->loop);
    }
    return code ? 1 : 0;
}

/* ---- the process ---- */

static int open_socket(struct err *err) {
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = ROUTER_SOCKET};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    unlink(ROUTER_SOCKET);
    if (fd == -1 || bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1 || listen(fd, BACKLOG) == -1) {
        err_sys(err, errno, ROUTER_SOCKET);
        return -1;
    }
    return fd;
}

static bool read_options(struct router_options *o, int argc, char **argv) {
    bool pods = false, services = false;

    for (int i = 1; i + 1 < argc; i += 2) {
        struct str v = str_of(argv[i + 1]);
        if (!strcmp(argv[i], "--data")) {
            o->data_dir = argv[i + 1];
        } else if (!strcmp(argv[i], "--pods")) {
            pods = model_ip(v, &o->pods, &o->pods_bits);
        } else if (!strcmp(argv[i], "--services")) {
            services = model_ip(v, &o->services, &o->services_bits);
        } else if (!strcmp(argv[i], "--uplink")) {
            o->uplink = !str_is(v, "none");
            o->uplink_wanted = str_is(v, "pasta");
        }
    }
    return o->data_dir && pods && services;
}

static int claim(const struct router_options *o, struct err *err) {
    char dir[PATH_LEN];

    umask(077);
    if (path_join(dir, o->data_dir, "node", err)) {
        return ERR_TOO_LARGE;
    }
    if (chdir(dir) == -1) {
        return err_sys(err, errno, "%s", dir);
    }
    int fd = open(ROUTER_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd == -1 || flock(fd, LOCK_EX | LOCK_NB) == -1) {
        return err_set(err, ERR_CONFLICT, "another router holds this folder");
    }
    return 0; /* held, by both processes, until they end */
}

struct router_start {
    struct router_options o;
    int listen_fd;
};

static void start(void *ctx, int line, const struct router_spaces *in) {
    const struct router_start *s = ctx;
    struct router r = {.o = s->o, .ns_fd = -1, .netlink = -1, .outside = {line}};

    _exit(work(&r, in, s->listen_fd));
}

/* A pod takes two descriptors, and whatever is forwarded to it more. */
static void raise_limit(void) {
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int router_main(int argc, char **argv) {
    struct router_start s = {.listen_fd = -1};
    struct err err = {0};

    if (!read_options(&s.o, argc, argv)) {
        return 2;
    }
    fcntl(REPORT, F_SETFD, FD_CLOEXEC);
    raise_limit();
    int code = claim(&s.o, &err);
    s.listen_fd = code ? -1 : open_socket(&err);
    if (s.listen_fd == -1) {
        report(&err);
        return 1;
    }
    return router_keep(start, &s);
}

/* ask_child: a question that blocks, in a process of its own. See ask.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls_pipe.h"
#include "node/life/ask.h"
#include "node/life/reach.h"
#include "node/node.h"

static int tell(int out, const char *what, const char *who, const char *why) {
    char text[ASK_TEXT];
    int n = snprintf(text, sizeof(text), "%s%s: %s", what, who, why);

    (void)!write(out, text, (size_t)(n < (int)sizeof(text) ? n : (int)sizeof(text) - 1));
    return 1;
}

/* Looked up, then connected to by address. */
static int connect_to(const struct handler *h, int out) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char address[NI_MAXHOST] = "";
    int code = getaddrinfo(h->host, NULL, &hints, &list);

    if (code == 0) {
        getnameinfo(list->ai_addr, list->ai_addrlen, address, sizeof(address), NULL, 0,
                    NI_NUMERICHOST);
        freeaddrinfo(list);
    }
    if (code) {
        tell(out, "lookup ", h->host, gai_strerror(code));
        return -1;
    }
    int fd = reach_connect(address, h->port);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int e = fd == -1 ? errno : 0;
    if (fd != -1) {
        poll(&p, 1, -1);
        e = reach_error(fd);
        fcntl(fd, F_SETFL, 0);
    }
    if (e) {
        tell(out, "dial tcp ", address, strerror(e));
        return -1;
    }
    return fd;
}

static int relay(int fd, struct str request, int out) {
    char bytes[4096];
    size_t all = 0;
    ssize_t n;

    while (request.n) {
        n = send(fd, request.p, request.n, MSG_NOSIGNAL);
        if (n <= 0) {
            break;
        }
        request = str_skip(request, (size_t)n);
    }
    while (all < ASK_READ_MAX && (n = recv(fd, bytes, sizeof(bytes), 0)) > 0) {
        if (write(out, bytes, (size_t)n) != n) {
            break;
        }
        all += (size_t)n;
    }
    return 0;
}

int ask_child(const struct handler *h, int out) {
    struct buf request;
    struct err err;
    int fd = connect_to(h, out);

    if (fd == -1 || h->kind != HANDLER_HTTP) {
        return fd == -1;
    }
    buf_init(&request, ASK_READ_MAX);
    ask_http_request(h, h->path, &request);
    if (!h->https) {
        return relay(fd, buf_view(&request), out);
    }
    if (tls_pipe(fd, h->host, buf_view(&request), out, ASK_READ_MAX, &err)) {
        return tell(out, "Get https://", h->host, err.text);
    }
    return 0;
}

/* `berth probe-tls NAME MOST`, for shims without TLS: the connection is its input, the request is open as descriptor 3,
 * and what comes of it is its output. */
int probe_tls_main(int argc, char **argv) {
    static char bytes[ASK_READ_MAX];
    struct err err;
    ssize_t n = argc == 3 ? read(3, bytes, sizeof(bytes)) : -1;
    uint64_t most;

    if (n <= 0 || !str_to_u64(str_of(argv[2]), &most)) {
        return 2;
    }
    if (tls_pipe(0, argv[1], str_from(bytes, (size_t)n), 1, (size_t)most, &err)) {
        return tell(1, "Get https://", argv[1], err.text);
    }
    return 0;
}

/*
 * gateway_peer: the two ends of a proxy under measurement, on one thread each, over epoll and plain HTTP/1.1.
 *
 *   bench-gateway-peer serve PORT             a model server: a short JSON answer to each request, or, as the body
 * says,
 *                                             "events":N (a stream of N events, as fast as they are taken) or "idle"
 *                                             (a stream of one event that never ends)
 *   bench-gateway-peer load PORT CONNECTIONS SECONDS RATE     RATE 0: as fast as it goes; prints requests, seconds,
 * and
 *                                             p50, p99 of latency in us
 *   bench-gateway-peer events PORT CONNECTIONS N      streams of N events each; prints events and seconds
 *   bench-gateway-peer idle PORT N            opens N streams; prints "open" when each has its event; ends with its
 * input
 *
 * Only what the measurement needs of HTTP: it is no example of a client.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "measure.h"

enum { CONNS = 40000, IN = 4096, BATCH = 512, BODY = 1024, SAMPLES = 4000000 };

struct peer {
    int fd;
    size_t n; /* bytes of a request or an answer that is not whole */
    char in[IN];
    long left;       /* events to be sent */
    int64_t sent_at; /* load: ns; 0: it waits for its turn */
    long events;     /* seen */
};

static struct peer *peers[CONNS];
static int ep;
static char answer[2048], event[512],
    stream_head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static size_t answer_n, event_n;

static long strtol_10(const char *text) {
    return strtol(text, NULL, 10);
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

static struct peer *peer_new(int fd) {
    struct peer *p = calloc(1, sizeof(*p));
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
    int on = 1;
    if (p == NULL || fd >= CONNS) {
        die("too many connections");
    }
    p->fd = fd;
    peers[fd] = p;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    return p;
}

static void peer_free(struct peer *p) {
    close(p->fd);
    peers[p->fd] = NULL;
    free(p);
}

/* ---- the server ---- */

static void send_events(struct peer *p) {
    static char batch[64 << 10];
    while (p->left > 0) {
        size_t n = 0;
        long k = 0;
        for (; k < p->left && k < 64 && n + event_n < sizeof(batch); k++) {
            memcpy(batch + n, event, event_n);
            n += event_n;
        }
        bool last = k == p->left;
        if (last) {
            memcpy(batch + n, "0\r\n\r\n", 5);
            n += 5;
        }
        int flags = fcntl(
            p->fd, F_GETFL); /* blocking: one stream is fed at a time, as far as it takes it */
        fcntl(p->fd, F_SETFL, flags & ~O_NONBLOCK);
        ssize_t sent = send(p->fd, batch, n, MSG_NOSIGNAL);
        fcntl(p->fd, F_SETFL, flags);
        if (sent != (ssize_t)n) {
            return;
        }
        p->left -= k;
        if (!last) {
            struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = p};
            epoll_ctl(ep, EPOLL_CTL_MOD, p->fd, &e);
            return;
        }
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
        epoll_ctl(ep, EPOLL_CTL_MOD, p->fd, &e);
    }
}

static void serve_request(struct peer *p, const char *body) {
    const char *events = strstr(body, "\"events\":");
    if (events) {
        p->left = strtol_10(events + 9);
        send(p->fd, stream_head, sizeof(stream_head) - 1, MSG_NOSIGNAL);
        send_events(p);
    } else if (strstr(body, "\"idle\"")) {
        send(p->fd, stream_head, sizeof(stream_head) - 1, MSG_NOSIGNAL);
        send(p->fd, event, event_n, MSG_NOSIGNAL);
    } else {
        send(p->fd, answer, answer_n, MSG_NOSIGNAL);
    }
}

static void serve_input(struct peer *p) {
    ssize_t n = recv(p->fd, p->in + p->n, IN - 1 - p->n, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) {
            peer_free(p);
        }
        return;
    }
    p->n += (size_t)n;
    p->in[p->n] = 0;
    char *end = strstr(p->in, "\r\n\r\n");
    char *length = end ? strcasestr(p->in, "content-length:") : NULL;
    size_t body = length ? (size_t)strtol_10(length + 15) : 0;
    if (end && p->n >= (size_t)(end + 4 - p->in) + body) {
        p->n = 0;
        serve_request(p, end + 4);
    }
}

static void serve(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 4096) != 0) {
        die("listen");
    }
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, v[BATCH];
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    for (;;) {
        int n = epoll_wait(ep, v, BATCH, -1);
        for (int i = 0; i < n; i++) {
            struct peer *p = v[i].data.ptr;
            if (p == NULL) {
                int c = accept(fd, NULL, NULL);
                if (c >= 0) {
                    peer_new(c);
                }
            } else if (v[i].events & EPOLLOUT) {
                send_events(p);
            } else {
                serve_input(p);
            }
        }
    }
}

/* ---- the client ---- */

static char question[1024];
static size_t question_n;

static void make_question(const char *body) {
    question_n = (size_t)snprintf(
        question, sizeof(question),
        "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
        "application/json\r\nAuthorization: Bearer bench\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
}

static struct peer *connect_to(int port) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0) {
        die("connect");
    }
    return peer_new(fd);
}

static void ask(struct peer *p) {
    p->sent_at = measure_now();
    p->n = 0;
    if (send(p->fd, question, question_n, MSG_NOSIGNAL) != (ssize_t)question_n) {
        die("send");
    }
}

/* True: the answer is whole. */
static bool load_input(struct peer *p) {
    ssize_t n = recv(p->fd, p->in + p->n, IN - 1 - p->n, 0);
    if (n <= 0) {
        die("the proxy closed a connection");
    }
    p->n += (size_t)n;
    p->in[p->n] = 0;
    char *end = strstr(p->in, "\r\n\r\n");
    char *length = end ? strcasestr(p->in, "content-length:") : NULL;
    if (end && (strncmp(p->in, "HTTP/1.1 200", 12) != 0 || length == NULL)) {
        fprintf(stderr, "%.200s\n", p->in);
        exit(1);
    }
    return end && p->n >= (size_t)(end + 4 - p->in) + (size_t)strtol_10(length + 15);
}

static void load(int port, int conns, double seconds, double rate) {
    static int64_t samples[SAMPLES];
    struct epoll_event v[BATCH];
    struct peer *idle[CONNS];
    size_t n_samples = 0;
    int n_idle = 0;
    make_question("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"How high is a "
                  "moderately high "
                  "mountain, and who has measured it?\"}],\"max_tokens\":64}");
    for (int i = 0; i < conns; i++) {
        idle[n_idle++] = connect_to(port);
    }
    int64_t begun = measure_now(), end = begun + (int64_t)(seconds * 1e9), now = begun;
    double step = rate > 0 ? 1e9 / rate : 0, next = (double)begun;
    while (now < end) {
        while (n_idle > 0 && (rate == 0 || next <= (double)now)) {
            ask(idle[--n_idle]);
            next += step;
        }
        int n = epoll_wait(ep, v, BATCH, rate > 0 ? 0 : 100);
        now = measure_now();
        for (int i = 0; i < n; i++) {
            struct peer *p = v[i].data.ptr;
            if (load_input(p)) {
                if (n_samples < SAMPLES) {
                    samples[n_samples++] = measure_now() - p->sent_at;
                }
                if (rate > 0) {
                    idle[n_idle++] = p;
                } else {
                    ask(p);
                }
            }
        }
    }
    double took = (double)(now - begun) / 1e9;
    printf("%zu %.3f %.1f %.1f\n", n_samples, took,
           (double)measure_percentile(samples, n_samples, .5) / 1e3,
           (double)measure_percentile(samples, n_samples, .99) / 1e3);
}

/* Events in what came, by the line breaks that end them. */
static void count_events(struct peer *p, const char *at, size_t n) {
    for (const char *q = at; (q = memchr(q, 'd', n - (size_t)(q - at))) != NULL; q++) {
        if (n - (size_t)(q - at) >= 6 && memcmp(q, "data: ", 6) == 0) {
            p->events++;
        }
    }
}

static void stream_events(int port, int conns, long events) {
    static char in[256 << 10];
    struct epoll_event v[BATCH];
    char body[128];
    long total = 0;
    int open = conns;
    snprintf(body, sizeof(body), "{\"model\":\"m\",\"stream\":true,\"events\":%ld}", events);
    make_question(body);
    int64_t begun = measure_now();
    for (int i = 0; i < conns; i++) {
        ask(connect_to(port));
    }
    while (open > 0) {
        int n = epoll_wait(ep, v, BATCH, -1);
        for (int i = 0; i < n; i++) {
            struct peer *p = v[i].data.ptr;
            ssize_t k = recv(p->fd, in, sizeof(in), 0);
            if (k <= 0) {
                die("the proxy closed a stream");
            }
            count_events(p, in, (size_t)k);
            if (k >= 5 && memcmp(in + k - 5, "0\r\n\r\n", 5) == 0) {
                total += p->events;
                peer_free(p);
                open--;
            }
        }
    }
    printf("%ld %.3f\n", total, (double)(measure_now() - begun) / 1e9);
}

static void idle_streams(int port, int n) {
    struct epoll_event v[BATCH];
    int open = 0;
    char c;
    make_question("{\"model\":\"m\",\"stream\":true,\"idle\":1}");
    for (int i = 0; i < n; i++) {
        ask(connect_to(port));
        if (i % 200 == 199 || i == n - 1) {
            while (open <= i) {
                int k = epoll_wait(ep, v, BATCH, -1);
                for (int j = 0; j < k; j++) {
                    struct peer *p = v[j].data.ptr;
                    ssize_t got = recv(p->fd, p->in + p->n, IN - 1 - p->n, 0);
                    if (got <= 0) {
                        die("the proxy closed a stream");
                    }
                    p->n += (size_t)got;
                    bool had = p->events > 0;
                    p->events += memmem(p->in, p->n, "data: ", 6) != NULL;
                    open += !had && p->events > 0;
                }
            }
        }
    }
    printf("open\n");
    fflush(stdout);
    while (read(0, &c, 1) > 0) {
    }
}

int main(int argc, char **argv) {
    struct rlimit files = {CONNS, CONNS};
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    ep = epoll_create1(EPOLL_CLOEXEC);
    char body[BODY + 1], data[256];
    memset(body, 'x', BODY);
    memcpy(body, "{\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":64},\"text\":\"", 60);
    memcpy(body + BODY - 2, "\"}", 3);
    answer_n = (size_t)snprintf(
        answer, sizeof(answer),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", BODY,
        body);
    snprintf(data, sizeof(data),
             "data: "
             "{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":"
             "1700000000,"
             "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" "
             "word\"},\"finish_reason\":null}]}\n\n");
    event_n = (size_t)snprintf(event, sizeof(event), "%zx\r\n%s\r\n", strlen(data), data);
    int port = argc > 2 ? (int)strtol_10(argv[2]) : 0;
    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        serve(port);
    } else if (argc == 6 && strcmp(argv[1], "load") == 0) {
        load(port, (int)strtol_10(argv[3]), strtod(argv[4], NULL), strtod(argv[5], NULL));
    } else if (argc == 5 && strcmp(argv[1], "events") == 0) {
        stream_events(port, (int)strtol_10(argv[3]), strtol_10(argv[4]));
    } else if (argc == 4 && strcmp(argv[1], "idle") == 0) {
        idle_streams(port, (int)strtol_10(argv[3]));
    } else {
        fprintf(stderr, "usage: see the head of bench/gateway_peer.c\n");
        return 2;
    }
    return 0;
}

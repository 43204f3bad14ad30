/* echo: see echo.h. */
#include "echo.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

struct peer {
    SSL *ssl;
    char in[8192];
    size_t n;
};

/* A P-256 key and a certificate by itself, as the API server has. */
static SSL_CTX *server_tls(void) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (key == NULL || cert == NULL || tls == NULL) {
        return NULL;
    }
    X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    if (X509_set_pubkey(cert, key) != 1 || X509_sign(cert, key, EVP_sha256()) == 0 ||
        SSL_CTX_use_certificate(tls, cert) != 1 || SSL_CTX_use_PrivateKey(tls, key) != 1) {
        return NULL;
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return tls;
}

/* False at the end of the connection. */
static bool answer(struct peer *p) {
    static char text[1200];
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n";
    if (!text[0]) {
        memset(text, 'x', sizeof(text));
        memcpy(text, head, sizeof(head) - 1);
    }
    int n;
    while ((n = SSL_read(p->ssl, p->in + p->n, (int)(sizeof(p->in) - 1 - p->n))) > 0) {
        p->n += (size_t)n;
        p->in[p->n] = 0;
        if (strstr(p->in, "\r\n\r\n")) {
            p->n = 0;
            (void)SSL_write(p->ssl, text, (int)sizeof(head) - 1 + 1024);
        }
    }
    return SSL_get_error(p->ssl, n) == SSL_ERROR_WANT_READ;
}

static void accept_one(SSL_CTX *tls, int listener, int ep) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct peer *p = calloc(1, sizeof(*p));
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    p->ssl = SSL_new(tls);
    SSL_set_fd(p->ssl, fd);
    if (SSL_accept(p->ssl) == 1) {
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};
        (void)epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    }
}

static _Noreturn void serve(SSL_CTX *tls, int listener) {
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL};
    (void)epoll_ctl(ep, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        struct epoll_event events[64];
        int n = epoll_wait(ep, events, 64, -1);
        for (int i = 0; i < n; i++) {
            struct peer *p = events[i].data.ptr;
            if (p && !answer(p)) {
                close(SSL_get_fd(p->ssl));
                SSL_free(p->ssl);
                free(p);
            } else if (p == NULL) {
                accept_one(tls, listener, ep);
            }
        }
    }
}

int echo_start(pid_t *ret_pid) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SSL_CTX *tls = server_tls();
    if (fd == -1 || tls == NULL || bind(fd, (struct sockaddr *)&a, sizeof(a)) == -1 ||
        listen(fd, 128) == -1 || getsockname(fd, (struct sockaddr *)&a, &len) == -1) {
        return -1;
    }
    *ret_pid = fork();
    if (*ret_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(tls, fd);
    }
    SSL_CTX_free(tls);
    close(fd);
    return ntohs(a.sin_port);
}

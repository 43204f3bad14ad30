/* tls_pipe: see tls_pipe.h. */
#include "net/tls_pipe.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <unistd.h>

static bool is_address(const char *name) {
    struct in6_addr a;

    return inet_pton(AF_INET, name, &a) == 1 || inet_pton(AF_INET6, name, &a) == 1;
}

static void copy(SSL *ssl, int out, size_t most) {
    char bytes[4096];
    int n;

    for (size_t all = 0; all < most && (n = SSL_read(ssl, bytes, sizeof(bytes))) > 0;
         all += (size_t)n) {
        if (write(out, bytes, (size_t)n) != n) {
            return;
        }
    }
}

int tls_pipe(int fd, const char *name, struct str request, int out, size_t most, struct err *err) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;
    int code = 0;

    if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 ||
        (!is_address(name) && SSL_set_tlsext_host_name(ssl, name) != 1)) {
        code = err_set(err, ERR_NOMEM, "no memory for TLS");
    } else if (SSL_connect(ssl) != 1) {
        code = err_set(err, ERR_UNAVAILABLE, "tls: the handshake failed");
    } else if (SSL_write(ssl, request.p, (int)request.n) <= 0) {
        code = err_set(err, ERR_UNAVAILABLE, "tls: the connection was closed");
    } else {
        copy(ssl, out, most);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    return code;
}

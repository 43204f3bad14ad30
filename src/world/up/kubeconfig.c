/* kubeconfig: the file by which clients reach us. See kubeconfig.h. */
#include "world/up/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file_store.h"
#include "base/mem.h"
#include "wire/text/base64.h"

enum { PEM_MAX = 64 << 10 };

static void closep(int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
}

static int read_file(const char *path, struct buf *out, struct err *err) {
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        return err_sys(err, errno, "open %s", path);
    }
    for (;;) {
        char *at = buf_room(out, 4096);
        if (at == NULL) {
            return err_set(err, buf_ok(out), "%s: more than %d bytes", path, PEM_MAX);
        }
        ssize_t n = read(fd, at, 4096);
        if (n == -1) {
            return err_sys(err, errno, "read %s", path);
        }
        if (n == 0) {
            return 0;
        }
        out->n += (size_t)n;
    }
}

static int add_file(struct buf *out, const char *indent_key, const char *path, struct err *err) {
    struct buf pem;
    buf_init(&pem, PEM_MAX);
    int r = read_file(path, &pem, err);
    if (r == 0) {
        buf_c(out, indent_key);
        base64_encode(out, buf_view(&pem));
        buf_ch(out, '\n');
    }
    buf_release(&pem);
    return r;
}

static int render(const struct kubeconfig_options *o, struct buf *b, struct err *err) {
    bool v6 = strchr(o->host, ':') != NULL;
    buf_f(b,
          "apiVersion: v1\nkind: Config\ncurrent-context: berth\nclusters:\n- name: berth\n  "
          "cluster:\n"
          "    server: https://%s%s%s:%u\n",
          v6 ? "[" : "", o->host, v6 ? "]" : "", o->port);
    int r = add_file(b, "    certificate-authority-data: ", o->ca_file, err);
    buf_f(b,
          "contexts:\n- name: berth\n  context:\n    cluster: berth\n    user: %s\n    namespace: "
          "default\n"
          "users:\n- name: %s\n  user:\n",
          o->user, o->user);
    r = r ? r : add_file(b, "    client-certificate-data: ", o->cert_file, err);
    r = r ? r : add_file(b, "    client-key-data: ", o->key_file, err);
    return r ? r : buf_ok(b);
}

/* Is it there as it should be? Then a start on a full disk need not write it. */
static bool is_same(const char *path, struct str text) {
    char part[4096];
    struct stat st;
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool same = fd != -1 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600;

    while (same && text.n) {
        ssize_t n = read(fd, part, sizeof(part) < text.n ? sizeof(part) : text.n);
        same = n > 0 && memcmp(part, text.p, (size_t)n) == 0;
        text = str_skip(text, n > 0 ? (size_t)n : 0);
    }
    return same && read(fd, part, 1) == 0;
}

static int store(const char *path, struct str text, struct err *err) {
    return is_same(path, text) ? 0 : file_store_path(path, text, 0600, err);
}

int kubeconfig_write(const struct kubeconfig_options *o, struct err *err) {
    struct buf b;
    buf_init(&b, 4 * PEM_MAX);
    int r = render(o, &b, err);
    r = r ? r : store(o->path, buf_view(&b), err);
    buf_release(&b);
    return r;
}

/* paths: where things are in a data folder. See paths.h. */
#include "world/kit/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int join(char out[PATH_BYTES], const char *dir, const char *name, struct err *err) {
    if (snprintf(out, PATH_BYTES, "%s/%s", dir, name) >= PATH_BYTES) {
        return err_set(err, ERR_BAD_REQUEST, "--data: the path is too long");
    }
    return 0;
}

static int default_dir(char out[PATH_BYTES], struct err *err) {
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (geteuid() == 0) {
        return join(out, "/var/lib", "berth", err);
    }
    if (xdg && xdg[0] == '/') {
        return join(out, xdg, "berth", err);
    }
    if (home == NULL || home[0] != '/') {
        return err_set(err, ERR_BAD_REQUEST, "no home folder: say where with --data DIR");
    }
    return join(out, home, ".local/share/berth", err);
}

/* mkdir -p; what is made is private. */
static int make_dirs(const char *path, struct err *err) {
    char part[PATH_BYTES];
    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] != '/' && path[i] != 0) {
            continue;
        }
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0700) == -1 && errno != EEXIST) {
            return err_sys(err, errno, "--data: make folder %s", part);
        }
        if (!path[i]) {
            break;
        }
    }
    return 0;
}

int paths_init(struct paths *p, const char *data, bool make, struct err *err) {
    char wanted[PATH_BYTES];
    int r = data ? 0 : default_dir(wanted, err);
    if (data && (size_t)snprintf(wanted, sizeof(wanted), "%s", data) >= sizeof(wanted)) {
        r = err_set(err, ERR_BAD_REQUEST, "--data: the path is too long");
    }
    if (r == 0 && wanted[0] == 0) {
        r = err_set(err, ERR_BAD_REQUEST, "--data: expected the path of a folder");
    }
    r = r || !make ? r : make_dirs(wanted, err);
    if (r == 0 && realpath(wanted, p->data) == NULL) {
        r = err_sys(err, errno, "--data: %s", wanted);
    }
    r = r ? r : join(p->pki, p->data, "pki", err);
    r = r ? r : join(p->kubeconfig, p->data, "kubeconfig", err);
    r = r ? r : join(p->node_kubeconfig, p->data, "node.kubeconfig", err);
    r = r ? r : join(p->gateway_kubeconfig, p->data, "gateway.kubeconfig", err);
    r = r ? r : join(p->admin_socket, p->data, "admin.sock", err);
    return r ? r : join(p->audit_log, p->data, "audit.log", err);
}

const char *paths_pki(const struct paths *p, char buf[PATH_BYTES], const char *name,
                      const char *suffix) {
    int n = snprintf(buf, PATH_BYTES, "%s/%s%s", p->pki, name, suffix);
    return n < PATH_BYTES ? buf : NULL;
}

/* pki: the certificates of a data folder. See pki.h. */
#include "world/up/pki.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls.h"

enum { CERT_DAYS = 365, SA_KEY_DAYS = 3650 };

static int client(const struct paths *p, const char *file, const char *cn, struct str org,
                  struct err *err) {
    struct tls_name n = {.cn = str_of(cn), .orgs = &org, .n_orgs = 1, .client = true};
    return tls_make_cert(p->pki, file, &n, CERT_DAYS, err);
}

static int server(const struct paths *p, const char *host, struct str service_ip, struct err *err) {
    const struct str alt[] = {STR("localhost"),
                              STR("kubernetes"),
                              STR("kubernetes.default"),
                              STR("kubernetes.default.svc"),
                              STR("kubernetes.default.svc.cluster.local"),
                              STR("127.0.0.1"),
                              STR("::1"),
                              service_ip,
                              str_of(host)};
    size_t n = sizeof(alt) / sizeof(alt[0]);
    bool listed = strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0 ||
                  strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    struct tls_name name = {
        .cn = STR("berth"), .alt = alt, .n_alt = listed ? n - 1 : n, .server = true};
    return tls_make_cert(p->pki, "server", &name, CERT_DAYS, err);
}

/* The name that `berth node` gives itself (node.c): its credential is for that name alone. */
static void node_name(char name[256]) {
    size_t n = 0;
    for (const char *c = name; *c; c++) {
        char low = (char)tolower((unsigned char)*c);
        bool ok = (low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') ||
                  (n && (low == '-' || low == '.'));
        name[n] = ok ? low : '-';
        n += ok || n > 0;
    }
    while (n && (name[n - 1] == '-' || name[n - 1] == '.')) {
        n--;
    }
    name[n] = 0;
}

int pki_make(const struct paths *p, const char *host, struct str service_ip, struct err *err) {
    char name[256] = "", node[300];
    if (mkdir(p->pki, 0700) == -1 && errno != EEXIST) {
        return err_sys(err, errno, "make folder %s", p->pki);
    }
    if (gethostname(name, sizeof(name) - 1) == -1 || !name[0]) {
        snprintf(name, sizeof(name), "localhost");
    }
    node_name(name);
    snprintf(node, sizeof(node), "system:node:%s", name);
    int r = tls_make_ca(p->pki, "berth", err);
    r = r ? r : server(p, host, service_ip, err);
    r = r ? r : client(p, "admin", "berth-admin", STR("system:masters"), err);
    r = r ? r : client(p, "node", node, STR("system:nodes"), err);
    r = r ? r : client(p, "gateway", "system:berth-gateway", STR("system:berth-gateway"), err);
    struct tls_name sa = {.cn = STR("berth-service-accounts")};
    return r ? r : tls_make_cert(p->pki, "sa", &sa, SA_KEY_DAYS, err);
}

/* up: see up.h. */
#include "up.h"

#include <dirent.h>
#include <ftw.h>
#include <openssl/pem.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

struct up up = {.who = "bench"};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f) {
    return remove(path);
}

_Noreturn void up_die(const char *what) {
    fprintf(stderr, "%s: %s\n", up.who, what);
    if (up.pid > 0) {
        kill(up.pid, SIGTERM);
        waitpid(up.pid, NULL, 0);
    }
    if (up.dir[0]) {
        (void)nftw(up.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    exit(1);
}

void up_folder(void) {
    snprintf(up.dir, sizeof(up.dir), "/tmp/berth-bench-XXXXXX");
    if (mkdtemp(up.dir) == NULL) {
        up.dir[0] = 0;
        up_die("no temporary folder");
    }
    snprintf(up.data, sizeof(up.data), "%s/data", up.dir);
}

void up_pin(int n) {
    static cpu_set_t all;
    static bool known;
    if (!known) {
        known = sched_getaffinity(0, sizeof(all), &all) == 0;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &all) && n-- == 0) {
            CPU_SET(i, &one);
            (void)sched_setaffinity(0, sizeof(one), &one);
        }
    }
}

static char *read_file(const char *path) {
    static char text[64 << 10];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f) {
        fclose(f);
    }
    text[n] = 0;
    return text;
}

/* The base64 value of a line "  key: value", decoded, as a BIO. */
static BIO *config_field(const char *config, const char *key) {
    const char *p = strstr(config, key);
    if (p == NULL) {
        up_die("the kubeconfig lacks a certificate");
    }
    p += strlen(key) + 2;
    size_t n = strcspn(p, " \r\n");
    unsigned char *out = malloc(n);
    int len = out ? EVP_DecodeBlock(out, (const unsigned char *)p, (int)n) : -1;
    if (len < 0) {
        up_die("the kubeconfig is not base64 where it must be");
    }
    for (size_t i = n; i > 0 && p[i - 1] == '='; i--) {
        len--;
    }
    BIO *b = BIO_new(BIO_s_mem());
    BIO_write(b, out, len);
    free(out);
    return b;
}

static void read_kubeconfig(void) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/kubeconfig", up.data);
    const char *config = read_file(path);
    const char *server = strstr(config, "server: https://");
    const char *colon = server ? strchr(server + 16, ':') : NULL;
    up.port = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    up.tls = SSL_CTX_new(TLS_client_method());
    BIO *ca = config_field(config, "certificate-authority-data");
    BIO *crt = config_field(config, "client-certificate-data");
    BIO *key = config_field(config, "client-key-data");
    X509 *root = PEM_read_bio_X509(ca, NULL, NULL, NULL);
    X509 *cert = PEM_read_bio_X509(crt, NULL, NULL, NULL);
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(key, NULL, NULL, NULL);
    if (!up.port || root == NULL || cert == NULL || pkey == NULL ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(up.tls), root) != 1 ||
        SSL_CTX_use_certificate(up.tls, cert) != 1 || SSL_CTX_use_PrivateKey(up.tls, pkey) != 1) {
        up_die("the kubeconfig is not usable");
    }
    SSL_CTX_set_verify(up.tls, SSL_VERIFY_PEER, NULL);
    X509_free(root);
    X509_free(cert);
    EVP_PKEY_free(pkey);
    BIO_free(ca);
    BIO_free(crt);
    BIO_free(key);
}

void up_start(const char *more, const char *value) {
    int fds[2];
    if (pipe(fds) == -1) {
        up_die("no pipe");
    }
    int64_t start = measure_now();
    fflush(stdout);
    up.pid = fork();
    if (up.pid == 0) {
        if (up.pin) {
            up_pin(0);
        }
        char log[PATH_MAX + 16];
        snprintf(log, sizeof(log), "%s/log", up.dir);
        dup2(fds[1], 1);
        if (freopen(log, "w", stderr) == NULL) {
            _exit(126);
        }
        close(fds[0]);
        close(fds[1]);
        execl(up.berth, "berth", "up", "--data", up.data, "--listen", "127.0.0.1:0", "--gpus",
              "none", more, value, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    char line[512] = "";
    FILE *f = fdopen(fds[0], "r");
    if (f == NULL || fgets(line, sizeof(line), f) == NULL ||
        strncmp(line, "berth: ready", 12) != 0) {
        char log[PATH_MAX + 16];
        snprintf(log, sizeof(log), "%s/log", up.dir);
        fprintf(stderr, "%s%s", line, read_file(log));
        up_die("berth up did not get ready");
    }
    up.start_ms = (double)(measure_now() - start) / 1e6;
    read_kubeconfig(); /* the pipe stays open: berth may still write to it */
}

double up_rss_mib(void) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)up.pid);
    const char *p = strstr(read_file(path), "VmRSS:");
    return p ? (double)strtol(p + 6, NULL, 10) / 1024 : 0;
}

double up_cpu_ns(pid_t pid) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    double ns = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, e->d_name);
        ns += e->d_name[0] == '.' ? 0 : strtod(read_file(path), NULL);
    }
    if (d) {
        closedir(d);
    }
    return ns;
}

void up_stop(void) {
    fflush(stdout);
    pid_t down = fork();
    if (down == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL) {
            _exit(126);
        }
        execl(up.berth, "berth", "down", "--data", up.data, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(down, NULL, 0);
    (void)kill(up.pid, SIGTERM);
    (void)waitpid(up.pid, NULL, 0);
    up.pid = 0;
    SSL_CTX_free(up.tls);
    (void)nftw(up.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * config (kube): kubeconfig files to what one connection needs.
 *
 * Files named in $KUBECONFIG (separated by ':') are merged: the first that defines a cluster, user, context or the
 * current context wins; relative file names are relative to the file that names them. Inside a pod without any
 * kubeconfig the service account's files are used. What cannot be honoured safely is refused with its field's name:
 * insecure-skip-tls-verify, auth-provider, and credentials over plain http.
 */
#ifndef BERTH_KUBE_CONFIG_H
#define BERTH_KUBE_CONFIG_H

#include "base/arena.h"
#include "base/err.h"

enum exec_interactive { EXEC_NEVER, EXEC_IF_AVAILABLE, EXEC_ALWAYS };

/* A program that gives credentials. */
struct kube_exec_config {
    struct str command;     /* empty: none */
    struct str dir;         /* of the file that names it */
    struct str *args, *env; /* env: "NAME=value"; all NUL-terminated */
    size_t n_args, n_env;
    struct str api_version; /* "client.authentication.k8s.io/v1" */
    struct str install_hint;
    struct str cluster_json; /* spec.cluster, with provideClusterInfo; else empty */
    enum exec_interactive interactive;
};

struct kube_extra {
    struct str key, value;
};

struct kube_config {
    struct arena arena; /* everything below lives here */
    struct str server;  /* without a trailing '/'; may have a path */
    struct str ca_pem, cert_pem, key_pem;
    struct str ca_file, cert_file, key_file;
    struct str tls_name; /* cluster.tls-server-name */
    /* What is sent to say who we are, the first that is there: token_file (read anew when it changes; then the token is
     * for when it cannot be read), token, username and password, exec. */
    struct str token, token_file;
    struct str username, password;
    struct kube_exec_config exec;
    /* Whom to act as. */
    struct str as_user, as_uid;
    struct str *as_groups;
    size_t n_as_groups;
    struct kube_extra *as_extra; /* one for each value */
    size_t n_as_extra;
    struct str ns;
    struct str proxy;
};

/* path NULL: $KUBECONFIG, else ~/.kube/config, else the service account. context NULL: the current one. */
int kube_config_load(struct kube_config *ret, const char *path, const char *context,
                     struct err *err);
/* The same of one kubeconfig's text, with relative names relative to dir. */
int kube_config_read(struct kube_config *ret, struct str text, struct str dir, const char *context,
                     struct err *err);
void kube_config_release(struct kube_config *c);
/* Whether there is a kubeconfig (or service account) that load with path NULL would read. */
bool kube_config_exists(void);

#endif

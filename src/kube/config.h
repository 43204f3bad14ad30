/*
 * config (kube): kubeconfig files to what one connection needs.
 *
 * Files named in $KUBECONFIG (separated by ':') are merged: the first that defines a cluster, user, context or the
 * current context wins; relative file names are relative to the file that names them. Inside a pod without any
 * kubeconfig the service account's files are used. What cannot be honoured safely is refused with its field's name:
 * exec and auth-provider plugins, passwords, insecure-skip-tls-verify, tls-server-name, credentials over plain http.
 */
#ifndef BERTH_KUBE_CONFIG_H
#define BERTH_KUBE_CONFIG_H

#include "base/arena.h"
#include "base/err.h"

struct kube_config {
    struct arena arena; /* everything below lives here */
    struct str server;  /* without a trailing '/' */
    struct str ca_pem, cert_pem, key_pem;
    struct str ca_file, cert_file, key_file;
    struct str token, token_file; /* the file is read anew for each request */
    struct str ns;
    struct str proxy;
};

/* path NULL: $KUBECONFIG, else ~/.kube/config, else the service account. context NULL: the current one. */
int kube_config_load(struct kube_config *ret, const char *path, const char *context,
                     struct err *err);
void kube_config_release(struct kube_config *c);
/* Whether there is a kubeconfig (or service account) that load with path NULL would read. */
bool kube_config_exists(void);

#endif

/*
 * kubeconfig (world): writes the file by which kubectl, berth's verbs and the node reach the API server.
 *
 * Everything is inside the file (CA, certificate, key), so that it can be copied. Written to a temporary file, 0600,
 * and renamed, so that a reader sees the old or the new one whole.
 */
#ifndef BERTH_WORLD_KUBECONFIG_H
#define BERTH_WORLD_KUBECONFIG_H

#include <stdint.h>

#include "base/err.h"

struct kubeconfig_options {
    const char *path; /* of the file */
    const char *host; /* "127.0.0.1" */
    uint16_t port;
    const char *ca_file;   /* PEM */
    const char *cert_file; /* PEM, of the client */
    const char *key_file;
    const char *user; /* name of the user entry: "berth-admin" */
};

int kubeconfig_write(const struct kubeconfig_options *o, struct err *err);

#endif

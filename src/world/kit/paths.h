/*
 * paths: where things are in a data folder, and which folder that is when nobody says.
 */
#ifndef BERTH_WORLD_PATHS_H
#define BERTH_WORLD_PATHS_H

#include <stdbool.h>

#include "base/err.h"

enum { PATH_BYTES = 4096 };

struct paths {
    char data[PATH_BYTES]; /* absolute */
    char pki[PATH_BYTES];
    char kubeconfig[PATH_BYTES];      /* of the administrator */
    char node_kubeconfig[PATH_BYTES]; /* of the node agent */
    char gateway_kubeconfig[PATH_BYTES];
    char admin_socket[PATH_BYTES];
    char audit_log[PATH_BYTES];
};

/* data NULL: /var/lib/berth for root, else $XDG_DATA_HOME/berth or ~/.local/share/berth. Makes the folder (0700) and
 * its parents when `make`; else it must exist. */
int paths_init(struct paths *p, const char *data, bool make, struct err *err);
/* "pki/NAME" with a suffix: paths_pki(p, buf, "admin", ".crt"). */
const char *paths_pki(const struct paths *p, char buf[PATH_BYTES], const char *name,
                      const char *suffix);

#endif

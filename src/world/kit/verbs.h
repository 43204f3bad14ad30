/*
 * verbs: what works on this machine: the processes of Berth, and its data folders. Verbs that ask a server are in
 * cli.
 *
 * Exit statuses are those of cli/cli.h.
 */
#ifndef BERTH_WORLD_VERBS_H
#define BERTH_WORLD_VERBS_H

#include "cli/kit/options.h"

extern const struct cli_verb world_up;      /* the embedded world */
extern const struct cli_verb world_operate; /* a cluster's world */
extern const struct cli_verb world_down;    /* ends `berth up` and every pod */
extern const struct cli_verb world_node;    /* one machine's agent */
extern const struct cli_verb world_backup, world_restore;
extern const struct cli_verb world_manifests; /* what a cluster needs, printed */
extern const struct cli_verb world_simulate;  /* the third world: virtual time */
extern const struct cli_verb world_dashboard; /* a link that signs in */
extern const struct cli_verb world_gateway;   /* requests for models */
extern const struct cli_verb world_image;     /* images of this machine: load, list, prune */
extern const struct cli_verb
    world_token; /* a bearer token; asks the server, whose Secret it makes */
extern const struct cli_verb world_user; /* people: tokens, and the projects they are in */

#endif

/*
 * view: the machine's file system as every pod sees it, made once and copied for each.
 *
 * The view is a mount namespace that nobody lives in: a tmpfs root with the machine's top folders bound read-only,
 * without set-user-id programs and devices, a /dev of its own (null, zero, full, random, urandom, tty, ptmx, the
 * links to /proc/self/fd), and empty /proc, /tmp and /run. Other mounts that the machine makes below those folders
 * later show up in it. A pod copies it (some twenty mounts) and puts its own proc, shared memory, terminals,
 * temporary files and folder over it, instead of binding every entry of the root anew.
 *
 * Without root, the home folder of the user that Berth runs as is empty in it: pods have that user's id there.
 */
#ifndef BERTH_NODE_VIEW_H
#define BERTH_NODE_VIEW_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes it; the descriptor of its mount namespace, or -1 with errno and *ret_what naming the step. Needs
 * CAP_SYS_ADMIN in a user namespace that owns our mount namespace. `owner`: the user of the machine whose
 * user namespace it is, and whose home is empty; 0: root. */
int view_make(uid_t owner, const char **ret_what);
/* Was something added to or taken from the machine's "/" since the view was made? */
bool view_is_old(void);

#endif

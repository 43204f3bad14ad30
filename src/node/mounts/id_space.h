/*
 * id_space: user namespaces that nobody lives in, made for what they map.
 *
 * A process of ours makes one and waits while its maps are written from outside, which may say more than a process
 * may say of itself; then the descriptor alone keeps it. Needs CAP_SETUID and CAP_SETGID over the numbers outside.
 */
#ifndef BERTH_NODE_ID_SPACE_H
#define BERTH_NODE_ID_SPACE_H

#include <stdbool.h>
#include <sys/types.h>

/* `inside` and `outside` are one number as seen there and here. */
struct id_pair {
    unsigned inside, outside;
};

/* `others`: the rest of 0 to 65535 is there as well, as itself. A descriptor of the namespace, or -1 with errno. */
int id_space_new(struct id_pair user, struct id_pair group, bool others);

#endif

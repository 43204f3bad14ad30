/* cell_inside: what process 1 of a pod does: puts the pod's view together, then reaps. For cell.c alone. */
#ifndef BERTH_NODE_CELL_INSIDE_H
#define BERTH_NODE_CELL_INSIDE_H

#include <stdbool.h>

#include "node/sandbox/sandbox.h"

struct cell_report {
    int error;
    char what[60];
};

/* What is opened while the machine is still in sight; -1: not there. */
struct cell_sources {
    int root, tmp, netns;
};
int cell_sources_open(struct cell_sources *ret, const struct sandbox *s, struct cell_report *f);
void cell_sources_close(struct cell_sources *c);

/* `users`: in a user namespace of its own, which is empty until cell.c has said who is in it. */
_Noreturn void cell_inside(const struct sandbox *s, const struct cell_sources *c, bool users,
                           int report);

#endif

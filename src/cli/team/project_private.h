/* project_private: the words of `berth project`, in project.c and project_make.c. */
#ifndef BERTH_CLI_PROJECT_PRIVATE_H
#define BERTH_CLI_PROJECT_PRIVATE_H

#include "cli/team/team.h"

#define PROJECT_KUEUE "kueue.x-k8s.io/v1beta2"
/* On a ClusterQueue: the project that it was made for and goes with. */
#define PROJECT_LABEL "berth.dev/project"

/* Each returns an exit code and prints errors. create connects itself; show needs a connection. */
int project_create(struct cli *c, struct str name);
int project_show(struct cli *c, struct str name);

#endif

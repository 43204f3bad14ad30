/* queue_private: the words of `berth queue`: the table (queue.c), why (queue_why.c), preview (queue_preview.c). */
#ifndef BERTH_CLI_QUEUE_PRIVATE_H
#define BERTH_CLI_QUEUE_PRIVATE_H

#include "cli/kit/kit.h"

#define BERTH_API "berth.dev/v1alpha1"
#define KUEUE_API "kueue.x-k8s.io/v1beta2"

/* `berth queue why NAME...`: each a job or a workload. An exit code. */
int queue_why(struct cli *c);
/* Whether NAME is a job or workload of the project: its explanation is printed, *ret_code is what came of it. */
bool queue_why_is(struct cli *c, const char *name, int *ret_code);
/* `berth queue preview -f FILE`. An exit code. */
int queue_preview(struct cli *c);

#endif

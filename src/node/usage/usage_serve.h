/*
 * usage_serve: answers for metrics.k8s.io: PodMetrics and NodeMetrics, from what the node of this machine wrote last
 * (DATA/node/usage.json), by name, namespace, labels, and the fields metadata.name and metadata.namespace. The file is
 * read when it is another; what is older than USAGE_OLD_S is not told, so that a node that has ended is not taken for
 * an idle one.
 */
#ifndef BERTH_NODE_USAGE_SERVE_H
#define BERTH_NODE_USAGE_SERVE_H

#include "base/clock.h"
#include "mirror/mirror.h"
#include "port/virtual.h"

enum { USAGE_OLD_S = 90 };

struct usage_serve;

/* registry and mirror outlive it. */
struct usage_serve *usage_serve_new(const char *data_dir, struct clock *c, struct mirror *m,
                                    struct virtual_registry *r, struct err *err);
void usage_serve_free(struct usage_serve *u); /* NULL is a no-op */

#endif

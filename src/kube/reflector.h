/*
 * reflector: keeps a mirror's objects of one kind equal to an API server's, by list and watch.
 *
 * WatchList where served, list + watch otherwise; bookmarks, 410, paging, back-off with jitter (spec constants of
 * client-go 1.35). Changes reach the mirror through mirror_apply, so its feeds run. A selector narrows what is
 * mirrored.
 */
#ifndef BERTH_KUBE_REFLECTOR_H
#define BERTH_KUBE_REFLECTOR_H

#include "kube/client.h"
#include "kube/writer.h"
#include "mirror/mirror.h"

struct reflector;

struct reflector_options {
    const struct kind *kind;
    struct str ns;             /* empty: all */
    struct str field_selector; /* "spec.nodeName=n1" */
    struct str label_selector;
    kube_trim *trim;           /* NULL: objects are kept whole */
    void (*synced)(void *ctx); /* after the first complete list; may be NULL */
    void *ctx;
};
struct reflector *reflector_start(struct kube_client *c, struct mirror *m,
                                  const struct reflector_options *o, struct err *err);
bool reflector_synced(const struct reflector *r);
void reflector_free(struct reflector *r);

#endif

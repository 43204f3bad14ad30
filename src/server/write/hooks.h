/*
 * hooks (server): webhooks of others, asked before a write is staged (admissionregistration.k8s.io/v1).
 *
 * The pipeline runs at once and on the newest state; a webhook answers later. So a write that needs an answer stops
 * before anything is staged, and when the answer is there the write runs again from its first step, on the state of
 * then. Answers are remembered by what was asked: where nothing has changed meanwhile the same question meets its
 * answer, and the run goes on to the next one or to staging; where something has, the question differs and is asked
 * again, as a kube-apiserver does after a conflict. A write without any webhook runs once, as ever.
 *
 *     rules, scope, namespaceSelector, objectSelector, matchPolicy     who is asked
 *     mutating    one after the other, by name of the configuration; again once where it says IfNeeded
 *     validating  all at once, on what would be stored
 *     failurePolicy, timeoutSeconds                                    without an answer
 *
 * clientConfig: a url, or a Service: its ExternalName, or the first address of its Endpoints; the certificate must then
 * be for SERVICE.NAMESPACE.svc. Peers are always verified, by caBundle or else the system's authorities.
 * matchConditions are compiled when they are written, and evaluated with `authorizer`. Not asked about: the objects of
 * admissionregistration.k8s.io, reviews, bindings, evictions, and
 * what the server itself makes at start. Sessions with pods (CONNECT) are not asked about either: where a webhook that
 * must answer would be, they are refused.
 */
#ifndef BERTH_SERVER_HOOKS_H
#define BERTH_SERVER_HOOKS_H

#include "server/write/hook_set.h"
#include "server/write/pipeline.h"

struct hooks;

int hooks_init(struct server *s, struct err *err);
void hooks_release(struct server *s); /* writes that wait are forgotten */

/* What a write is, for those who match it. The labels are in w->arena. 0, or w->failure is filled. */
struct hook_labels {
    struct str_map now, old;
    struct hook_match m;
};
int hooks_labels(struct write *w, bool removes, struct hook_labels *ret);

/* Steps of the pipeline: 0; ERR_AGAIN: w waits, and runs again by itself; else w->failure is filled.
 * mutate: w->doc may be another afterwards, *ret_changed; it is pruned, not defaulted. */
int hooks_mutate(struct write *w, bool *ret_changed);
int hooks_validate(struct write *w);
int hooks_remove(struct write *w); /* of a deletion, both kinds */

/* Nobody waits for w any more: where it waits for an answer it ends here (done, with ERR_GONE); else nothing
 * happens. */
void hooks_abandon(struct write *w);
/* The same for all writes with this ctx. */
void hooks_abandon_all(struct server *s, const void *ctx);
/* For write_free. */
void hooks_forget(struct write *w);

#endif

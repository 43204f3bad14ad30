/*
 * crd (server): CustomResourceDefinitions come alive: their kinds are served, their status says so, and with their
 * deletion all objects of the kind go.
 *
 * A definition is looked at when it is committed. Its names are accepted unless another definition of the group, or a
 * kind of our own, has them; then its row (crd_kind.h) is served and the conditions NamesAccepted and Established
 * are written. A kind of our own of the same group and plural goes on serving: such a definition is accepted and
 * otherwise without effect. Deletion holds on to the definition by a finalizer until the last object is gone.
 */
#ifndef BERTH_SERVER_CRD_H
#define BERTH_SERVER_CRD_H

#include "server/write/pipeline.h"

struct crds;

int crds_init(struct server *s, struct err *err);
void crds_release(struct server *s);

/* In the pipeline, on a definition about to be stored: schemas that cannot be compiled are refused, and what is
 * accepted but not enforced is told in warnings. 0, or fills the failure. */
int crd_admit(struct write *w);
/* On an object of a custom kind about to be created: not while its definition goes. */
int crd_admit_instance(struct write *w);

/* The finalizer and the condition that a definition gets when it is deleted; w->doc is the object to be. */
int crd_mark_terminating(struct write *w);
bool crd_is_definition(const struct kind *k);

#endif

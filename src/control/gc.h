/*
 * gc: deletes what has lost its owners, and lets owners go once their dependents have.
 *
 *     a reference is   when                                      with others of that kind only
 *     dangling         no object has its uid (in that namespace)  the dependent is deleted, in the background
 *     waiting          the owner is being deleted, foreground     deleted; foreground when it has dependents itself
 *     solid            else                                       one is enough to keep it; the rest is struck out
 *
 * An owner with finalizer foregroundDeletion goes when no dependent with blockOwnerDeletion is left; one with finalizer
 * orphan when no dependent names it any more. A cluster-scoped object that names a namespaced owner is never deleted.
 * The mirror holds every object, so its index of owners is the graph.
 */
#ifndef BERTH_CONTROL_GC_H
#define BERTH_CONTROL_GC_H

#include "base/err.h"
#include "control/env.h"

struct gc_controller;

struct gc_controller *gc_controller_new(const struct control_env *env, struct err *err);
void gc_controller_free(struct gc_controller *c);

#endif

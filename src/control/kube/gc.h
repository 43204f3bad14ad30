/*
 * gc: the garbage collector: deletes objects whose owners are gone, and finishes foreground deletions.
 *
 *     a reference is   when                                      with others of that kind only
 *     dangling         it names no object (see below)             the dependent is deleted, in the background
 *     waiting          the owner is being deleted, foreground     deleted; foreground when it has dependents itself
 *     solid            else                                       one is enough to keep it; the rest is struck out
 *
 * An owner with finalizer foregroundDeletion goes when no dependent with blockOwnerDeletion is left; one with finalizer
 * orphan when no dependent names it any more. Owners that wait for one another in a circle would wait for ever: who is
 * in one lets its own owners go first. The search for a circle is bounded: it ends when more than 4,096 objects wait to
 * be looked at, or when those below the owner are more than 8 MiB. Then the owner is taken for one in a circle. So in a
 * tree that big the foreground order is given up: owners may go before what is below them, and all go in the end.
 *
 * A reference names an object by uid, kind and name in the dependent's own namespace or outside of all
 * (object_named_by); one into another namespace is dangling, whatever uid it has. A cluster-scoped object that names a
 * namespaced owner is never deleted. Both are told by an Event (OwnerRefInvalidNamespace). The mirror holds every
 * object, so its index of owners is the graph.
 */
#ifndef BERTH_CONTROL_GC_H
#define BERTH_CONTROL_GC_H

extern const struct controller_row gc_controller;

#endif

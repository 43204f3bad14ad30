/*
 * namespace: empties a namespace that is being deleted, says what is left in its conditions, and lets it go when it is
 * empty (subresource finalize). What is in it is deleted in the background, pods with their grace.
 */
#ifndef BERTH_CONTROL_NAMESPACE_H
#define BERTH_CONTROL_NAMESPACE_H

extern const struct controller_row namespace_controller;

#endif

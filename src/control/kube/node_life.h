/*
 * node_life: handles nodes without heartbeats, and pods whose node is gone.
 *
 * A Node whose Lease (kube-node-lease/<node>) or Ready heartbeat is older than 40 seconds becomes Ready=Unknown, and
 * its pods are told by an event; the node itself takes that back with its next status. Pods bound to a Node that does
 * not exist for as long are marked Failed and deleted without grace: nobody else would.
 */
#ifndef BERTH_CONTROL_NODE_LIFE_H
#define BERTH_CONTROL_NODE_LIFE_H

extern const struct controller_row node_life_controller;

#endif

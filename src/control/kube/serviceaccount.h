/*
 * serviceaccount: every active namespace has ServiceAccount `default`, and ConfigMap `kube-root-ca.crt` with the
 * certificate that pods verify the API server by (when the world has one).
 */
#ifndef BERTH_CONTROL_SERVICEACCOUNT_H
#define BERTH_CONTROL_SERVICEACCOUNT_H

extern const struct controller_row serviceaccount_controller;

#endif

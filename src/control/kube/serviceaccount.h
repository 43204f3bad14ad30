/*
 * serviceaccount: every active namespace has ServiceAccount `default`, and ConfigMap `kube-root-ca.crt` with the
 * certificate that pods verify the API server by (when the world has one).
 */
#ifndef BERTH_CONTROL_SERVICEACCOUNT_H
#define BERTH_CONTROL_SERVICEACCOUNT_H

#include "base/err.h"
#include "control/kit/env.h"

struct serviceaccount_controller;

struct serviceaccount_controller *serviceaccount_controller_new(const struct control_env *env,
                                                                struct err *err);
void serviceaccount_controller_free(struct serviceaccount_controller *c);

#endif

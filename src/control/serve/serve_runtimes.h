/*
 * serve_runtimes: the ClusterServingRuntimes of deploy/serving/runtimes.yaml, made in a fresh data folder. Each is made
 * once: the ConfigMap kube-system/berth-runtimes says which were, so that what people change or delete stays as they
 * left it, and what a newer Berth ships is added.
 */
#ifndef BERTH_CONTROL_SERVE_RUNTIMES_H
#define BERTH_CONTROL_SERVE_RUNTIMES_H

#include "control/kit/controller.h"

extern const struct controller_row serve_runtimes_controller;

#endif

/*
 * serve: the controller of InferenceServices and LLMInferenceServices, as KServe's Standard mode.
 *
 *     InferenceService      Deployment and Service NAME-predictor; of a canary the same with -canary
 *     LLMInferenceService   Deployment NAME-kserve and Service NAME-kserve-workload-svc
 *
 * The pods are the Deployment's, so each waits in the queue that the service's label names, and a replica that serves
 * is not taken down before another one does. Replicas between the least and the most are an autoscaler's, or the
 * gateway's, which sets Deployments at zero to one. While canaryTrafficPercent is below 100 the Deployment
 * NAME-predictor keeps the revision before, and NAME-predictor-canary has the latest.
 *
 * It acts only where the kinds are Berth's: built in, or by a definition with the label app.kubernetes.io/name: berth
 * (`berth manifests serving`). Where another definition is installed, KServe's controller acts, and this one does not.
 */
#ifndef BERTH_CONTROL_SERVE_H
#define BERTH_CONTROL_SERVE_H

#include "control/kit/controller.h"

extern const struct controller_row serve_controller;

#endif

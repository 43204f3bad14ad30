/*
 * pod_rows: the rows of a pod's spec and of a container where another project's kind has them among its own: optional
 * all, without defaults, since they are laid over what a runtime says. What the scheduler alone says is not among them.
 */
#ifndef BERTH_API_POD_ROWS_H
#define BERTH_API_POD_ROWS_H

#include "api/tables/rows.h"
#include "api/tables/view_core.h"

#define FLAG(json_, doc_) F(BOOL, ONE, json_, 0, .flags = FIELD_F_OPT, .doc = doc_)
#define NAMED(json_, name_, keys_, doc_)                                                           \
    F(OBJECT, LIST, json_, 0, .of = &schema_##name_, .merge_key = keys_, .list_keys = keys_,       \
      .doc = doc_)
#define WHOLE_LIST(json_, name_, doc_)                                                             \
    F(OBJECT, LIST, json_, 0, .of = &schema_##name_, .flags = FIELD_F_ATOMIC, .doc = doc_)
#define WORDS(json_, doc_) F(STRING, LIST, json_, 0, .flags = FIELD_F_ATOMIC, .doc = doc_)

/* Of a container, but for its name. */
#define ROWS_OF_CONTAINER                                                                          \
    TEXT("image", "Image to run."), WORDS("command", "Command to run."),                           \
        WORDS("args", "Arguments, instead of the runtime's."),                                     \
        TEXT("workingDir", "Directory to start in."),                                              \
        WHOLE_LIST("ports", container_port, "Ports that it listens on."),                          \
        WHOLE_LIST("envFrom", env_from_source, "ConfigMaps and Secrets that become variables."),   \
        NAMED("env", env_var, "name", "Environment variables."),                                   \
        ONE_OF("resources", resources, 0, "Resource requests and limits."),                        \
        NAMED("volumeMounts", volume_mount, "mountPath", "Volumes mounted in the container."),     \
        ONE_OF("livenessProbe", probe, 0, "Check after whose failure it is restarted."),           \
        ONE_OF("readinessProbe", probe, 0, "Check whether it can serve requests."),                \
        ONE_OF("startupProbe", probe, 0, "Check that must pass before the others begin."),         \
        ONE_OF("lifecycle", lifecycle, 0, "Hooks after its start and before its end."),            \
        ONE_OF("securityContext", security_context, 0, "Security settings."),                      \
        TEXT("imagePullPolicy", "Always, IfNotPresent or Never."),                                 \
        TEXT("terminationMessagePath", "File with the message of its end."),                       \
        TEXT("terminationMessagePolicy", "Source of that message.")

/* Of a pod's spec, but for its containers. */
#define ROWS_OF_POD                                                                                \
    NAMED("volumes", volume, "name", "Storage that the containers may mount."),                    \
        NAMED("initContainers", container, "name", "Containers that run before the others."),      \
        F(STRING, MAP, "nodeSelector", 0, .flags = FIELD_F_ATOMIC,                                 \
          .doc = "Labels that the node must have."),                                               \
        WHOLE_LIST("tolerations", toleration, "Tolerations."),                                     \
        ONE_OF("affinity", affinity, 0, "Affinity to nodes and to other pods."),                   \
        NAMED("topologySpreadConstraints", topology_spread_constraint,                             \
              "topologyKey,whenUnsatisfiable", "How the replicas are spread over domains."),       \
        TEXT("serviceAccountName", "ServiceAccount that the pods act as."),                        \
        FLAG("automountServiceAccountToken", "Whether a token of the account is mounted."),        \
        NAMED("imagePullSecrets", local_object_reference, "name", "Credentials to pull images."),  \
        ONE_OF("securityContext", pod_security_context, 0, "Security settings of the pod."),       \
        TEXT("priorityClassName", "PriorityClass of the pods."),                                   \
        TEXT("runtimeClassName", "RuntimeClass that runs the pods."),                              \
        TEXT("schedulerName", "Scheduler that places the pods."),                                  \
        TEXT("dnsPolicy", "Where names are looked up."),                                           \
        FLAG("hostIPC", "Shares inter-process communication with the node."),                      \
        FLAG("shareProcessNamespace", "Containers see each other's processes."),                   \
        FLAG("enableServiceLinks", "Whether Services become environment variables."),              \
        NAMED("hostAliases", host_alias, "ip", "Lines added to /etc/hosts."),                      \
        F(INT64, ONE, "terminationGracePeriodSeconds", 0, .flags = FIELD_F_OPT, .min = 0,          \
          .max = INT32_MAX, .doc = "Seconds between SIGTERM and SIGKILL.")

#endif

/*
 * frameworks: the kinds of jobs and of lasting pods that are queued, once: what Kueue's Configuration calls them, and
 * where they live. Kinds of other projects, webhooks, the Configuration, admission and the integrations are made of
 * these lists.
 *
 *     X(ID, name, group, group with dashes, kind, singular, plural, version, OLDER("v1alpha1") ...)
 *
 * ID is for FRAMEWORK_<ID>; OLDER are versions that are served as well, in the form that who asks for them defines.
 */
#ifndef BERTH_API_FRAMEWORKS_H
#define BERTH_API_FRAMEWORKS_H

#include <stddef.h>

#define FRAMEWORKS_BATCH(X)                                                                        \
    X(BATCH_JOB, "batch/job", "batch", "batch", "Job", "job", "jobs", "v1", )

/* Jobs of other projects: their kinds have no table here. */
#define FRAMEWORKS_JOBS(X)                                                                         \
    FRAMEWORK_(X, JOBSET, "jobset.x-k8s.io", "jobset-x-k8s-io", "JobSet", "jobset", "jobsets",     \
               "v1alpha2", )                                                                       \
    KUBEFLOW_(X, PYTORCH, "PyTorchJob", "pytorchjob", "v1")                                        \
    KUBEFLOW_(X, TF, "TFJob", "tfjob", "v1")                                                       \
    KUBEFLOW_(X, XGBOOST, "XGBoostJob", "xgboostjob", "v1")                                        \
    KUBEFLOW_(X, PADDLE, "PaddleJob", "paddlejob", "v1")                                           \
    KUBEFLOW_(X, JAX, "JAXJob", "jaxjob", "v1")                                                    \
    KUBEFLOW_(X, MPI, "MPIJob", "mpijob", "v2beta1")                                               \
    FRAMEWORK_(X, TRAIN, "trainer.kubeflow.org", "trainer-kubeflow-org", "TrainJob", "trainjob",   \
               "trainjobs", "v1alpha1", )                                                          \
    RAY_(X, RAY_CLUSTER, "RayCluster", "raycluster")                                               \
    RAY_(X, RAY_JOB, "RayJob", "rayjob")                                                           \
    RAY_(X, RAY_SERVICE, "RayService", "rayservice")                                               \
    FRAMEWORK_(X, APP_WRAPPER, "workload.codeflare.dev", "workload-codeflare-dev", "AppWrapper",   \
               "appwrapper", "appwrappers", "v1beta2", )

/* What is queued pod by pod. */
#define FRAMEWORKS_POD(X) X(POD, "pod", "", "", "Pod", "pod", "pods", "v1", )
#define FRAMEWORKS_SETS(X)                                                                         \
    X(DEPLOYMENT, "deployment", "apps", "apps", "Deployment", "deployment", "deployments", "v1", ) \
    X(STATEFUL_SET, "statefulset", "apps", "apps", "StatefulSet", "statefulset", "statefulsets",   \
      "v1", )
#define FRAMEWORKS_GROUPS(X) /* of other projects */                                               \
    FRAMEWORK_(X, LEADER_WORKER_SET, "leaderworkerset.x-k8s.io", "leaderworkerset-x-k8s-io",       \
               "LeaderWorkerSet", "leaderworkerset", "leaderworkersets", "v1", )

#define FRAMEWORKS_ALL(X)                                                                          \
    FRAMEWORKS_BATCH(X)                                                                            \
    FRAMEWORKS_JOBS(X) FRAMEWORKS_POD(X) FRAMEWORKS_SETS(X) FRAMEWORKS_GROUPS(X)

#define FRAMEWORK_(X, id_, group_, dashed_, kind_, singular_, plural_, version_, ...)              \
    X(id_, group_ "/" singular_, group_, dashed_, kind_, singular_, plural_, version_, __VA_ARGS__)
#define KUBEFLOW_(X, id_, kind_, singular_, version_)                                              \
    FRAMEWORK_(X, id_, "kubeflow.org", "kubeflow-org", kind_, singular_, singular_ "s", version_, )
#define RAY_(X, id_, kind_, singular_)                                                             \
    FRAMEWORK_(X, id_, "ray.io", "ray-io", kind_, singular_, singular_ "s", "v1", OLDER("v1alpha1"))

struct framework {
    const char *name; /* as the Configuration lists it: "ray.io/rayjob" */
    const char *group, *kind, *version;
    const char *long_name; /* as the Configuration's externalFrameworks would: "RayJob.v1.ray.io" */
};

enum framework_id {
#define ID_(id_, ...) FRAMEWORK_##id_,
    FRAMEWORKS_ALL(ID_)
#undef ID_
        FRAMEWORKS,
};

extern const struct framework frameworks[FRAMEWORKS];

#endif

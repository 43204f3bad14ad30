/* serve_private: one look at a served model, which the files of serve share. */
#ifndef BERTH_CONTROL_SERVE_PRIVATE_H
#define BERTH_CONTROL_SERVE_PRIVATE_H

#include "api/models/view_models.h"
#include "api/tables/view_apps.h"
#include "base/map.h"
#include "control/serve/serve.h"
#include "core/serve/serve_names.h"
#include "core/serve/serve_pod.h"
#include "core/serve/serve_status.h"

#define SERVE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define SERVE_CLASS_LABEL "kueue.x-k8s.io/priority-class"
#define SERVE_STOP "serving.kserve.io/stop"
#define SERVE_PROFILE "opendatahub.io/hardware-profile-name"
#define SERVE_PROFILE_NS "opendatahub.io/hardware-profile-namespace"
#define SERVE_LLM_NAME "app.kubernetes.io/name" /* of an LLMInferenceService's pods */
#define SERVE_LLM_PART "app.kubernetes.io/part-of"
#define SERVE_LLM "llminferenceservice"

/* Of the row's kinds; the first two are the sorts of keys as well. */
enum serve_kind {
    SERVE_SERVICES,
    SERVE_LLMS,
    SERVE_RUNTIMES,
    SERVE_CLUSTER_RUNTIMES,
    SERVE_PROFILES,
    SERVE_DEPLOYMENTS,
    SERVE_ADDRESSES, /* core/v1 Services */
    SERVE_SCALERS,   /* HorizontalPodAutoscalers; NULL where they are not served */
    SERVE_SETS,
    SERVE_PODS,
    SERVE_WORKLOADS,
    SERVE_DEFINITIONS
};

struct serve_controller {
    struct controller base;
    struct map refused;   /* uid -> struct serve_refusal: what the last write was answered with */
    struct map questions; /* uid -> struct serve_question, of services that wait */
};

/* A Deployment of the service. */
struct serve_revision {
    struct str name, app;        /* app: value of its label */
    const struct object *obj;    /* NULL: not there */
    struct deployment view;      /* of obj */
    struct str intent;           /* what its template was made of */
    const struct object *pod;    /* the newest; NULL: none */
    enum serve_pod state;        /* of it */
    struct str pod_text, queued; /* why it failed; why one waits for quota */
    struct str waiting,
        waiting_text;              /* reason of a container that cannot start, and what is wrong */
    const struct object *workload; /* of that; NULL: none yet */
    struct str queue;              /* its queue, for people */
    int32_t exit_code, failed;
};

struct serve_look {
    struct serve_controller *c;
    struct arena *a;
    const struct object *obj;
    bool llm, stopped;
    yyjson_val *spec, *pod, *server; /* spec; what is laid over the runtime's pod and server */
    struct inference_service view;
    struct serve_revision stable, canary;
    struct str address_name, canary_address, url;
    int32_t port;       /* at which clients reach it */
    int32_t min, max;   /* replicas */
    int canary_percent; /* -1: none */
    /* by serve_read */
    struct str runtime, uri, queue, class;
    bool cluster_runtime;
    yyjson_mut_doc *doc;
    yyjson_mut_val *template;
    int32_t target_port;
    struct str intent;  /* a digest of template, labels and strategy */
    struct str ignored; /* fields that nobody acts on, with commas */
    const char *fault;  /* reason of lastFailureInfo; NULL: none */
    struct str fault_text;
    struct round *round;
};

const struct object *serve_get(const struct serve_look *l, enum serve_kind k, struct str ns,
                               struct str name);
bool serve_owns(const struct serve_look *l, const struct object *o);

/* serve_read.c: runtime, hardware, template. 0 also with a fault; ERR_NOMEM. */
int serve_read(struct serve_look *l);
/* serve_see.c: the Deployments, their newest pods, and why those wait. 0 or ERR_NOMEM. */
int serve_see(struct serve_look *l);
/* serve_ask.c: the place in the line, in stable.queued, when it is known; asks for it again from time to time. */
void serve_ask(struct serve_look *l);
void serve_ask_drop(struct serve_controller *c, struct str uid); /* no-op when nothing was asked */
void serve_ask_release(struct serve_controller *c);
/* serve_make.c: writes what there should be, in the look's round. */
void serve_make(struct serve_look *l);
void serve_remove(struct serve_look *l); /* all of it */
/* A copy of an object, or a new one that the service owns; NULL: out of memory. And what was made of it is written. */
yyjson_mut_doc *serve_tree(struct serve_look *l, const struct kind *k, const struct object *o,
                           struct str name, yyjson_val **ret_was);
void serve_write(struct serve_look *l, const struct kind *k, const struct object *o,
                 yyjson_val *was, yyjson_mut_doc *want);
void serve_remove_one(struct serve_look *l, enum serve_kind k, struct str name);
/* serve_scaler.c: the autoscaler, made, changed or removed. */
void serve_put_scaler(struct serve_look *l);
bool serve_scales_by(struct str metric); /* of scaleMetric */
/* Whether the latest revision is a canary, beside the one before. */
bool serve_is_canary(const struct serve_look *l);
/* serve_tell.c: the status, in the look's round. refused: what the last write was answered with, or empty. */
void serve_tell(struct serve_look *l, struct str refused);

#endif

/*
 * limits: every size a user controls, named in one place.
 *
 * Values marked [k8s] are Kubernetes' own; the rest are ours, chosen so that one machine with 256 MiB stays up.
 */
#ifndef BERTH_BASE_LIMITS_H
#define BERTH_BASE_LIMITS_H

#include <stdint.h>

/* clang-format off */
enum {
    /* objects */
    LIMIT_BODY_BYTES = 3 << 20,          /* request body [k8s] */
    LIMIT_BODY_VALUES = 300000,          /* names and values in it */
    LIMIT_OBJECT_BYTES = 1536 << 10,     /* one stored object [k8s: about 1.5 MB] */
    LIMIT_ANNOTATION_BYTES = 256 << 10,  /* all annotations of an object, keys and values [k8s] */
    LIMIT_JSON_DEPTH = 64,               /* nesting of JSON and YAML */
    LIMIT_JSON_PATCH_OPS = 10000,        /* [k8s] */
    LIMIT_JSON_PATCH_COPY_BYTES = 3 << 20, /* bytes that "copy" may add [k8s] */
    LIMIT_JSON_PATCH_STEPS = 5000000,    /* values that a JSON patch may walk over */
    LIMIT_REQUEST_STEPS = 4000000,       /* that one request may take of the loop's time: see arena_charge */
    LIMIT_CAUSES = 500,                  /* violated rules that one answer names */
    LIMIT_CAUSES_BYTES = 1 << 20,        /* of their texts */
    LIMIT_SET_REPLICAS = 10000,          /* pods of one ReplicaSet, Deployment or StatefulSet */
    LIMIT_YAML_DOCS = 10000,             /* documents in a stream */
    LIMIT_YAML_NODES = 300000,           /* nodes after expanding aliases */
    LIMIT_YAML_COPIED = 6 << 20,         /* bytes of text that its aliases may add */
    LIMIT_YAML_AT_ONCE = 64 << 10,       /* bytes of a body that are read on the loop; longer ones beside it */
    LIMIT_YAML_WAITING = 64,             /* long YAML bodies that are being read, and ... */
    LIMIT_YAML_WAITING_USER = 8,         /* ... of one user */
    LIMIT_NAME = 253,                    /* DNS-1123 subdomain [k8s] */
    LIMIT_SERVICE_PORTS = 100,           /* of one Service */
    LIMIT_POLICY_RULES = 500,            /* of a NetworkPolicy in one direction; peers and ports of a rule */
    LIMIT_LABEL = 63,                    /* label value, DNS-1123 label [k8s] */
    LIMIT_SELECTOR_BYTES = 64 << 10,
    LIMIT_SELECTOR_TERMS = 1000,
    LIMIT_CRON_ACTIVE = 1000,            /* Jobs of one CronJob that run at a time */
    LIMIT_ADMISSION_GATES = 64,          /* names in the annotation admission-gated-by */
    LIMIT_STORE_OBJECTS = 2000000,       /* objects of all kinds */
    LIMIT_NAMED_ITEMS = 1024,            /* of a list or map whose names are compared pairwise */
    LIMIT_FIELD_MANAGERS = 256,          /* entries of managedFields; updates are joined beyond ten [k8s] */
    LIMIT_TRACKED_VALUES = 80000,        /* of an object, before and after, whose managedFields are kept */
    LIMIT_CONDITION_MESSAGE = 32768,     /* [k8s] */
    LIMIT_EVENT_MESSAGE = 1024,          /* [k8s] */

    /* custom resources */
    LIMIT_CRDS = 10000,                  /* CustomResourceDefinitions */
    LIMIT_CRDS_BYTES = 128 << 20,        /* of all of them as stored; compiled, they take about 14 times that */
    LIMIT_CRD_VERSIONS = 32,             /* of one */
    LIMIT_CRD_NODES = 100000,            /* places in one schema */
    LIMIT_CRD_BYTES = 64 << 20,          /* of one compiled schema */
    LIMIT_CRD_COLUMNS = 64,              /* printer columns, selectable fields of a version */
    LIMIT_CRD_CAUSES = 500,              /* violated rules that one answer names */
    LIMIT_CRD_STEPS = 1000000,           /* places that the check of one object looks at, alternatives counted each */

    /* regular expressions of others */
    LIMIT_REGEX_BYTES = 8192,
    LIMIT_REGEX_INSTS = 20000,
    LIMIT_REGEX_VISITS = 100000,         /* of its parts while it is compiled, each as often as it is repeated */
    LIMIT_REGEX_DEPTH = 200,
    LIMIT_REGEX_REPEAT = 1000,           /* in {n,m} [RE2] */
    LIMIT_REGEX_STEPS = 1500000,         /* of all matches of one object's patterns */

    /* CEL */
    LIMIT_CEL_BYTES = 16384,             /* of one expression */
    LIMIT_CEL_NODES = 20000,
    LIMIT_CEL_DEPTH = 100,
    LIMIT_CEL_STEPS = 450000,            /* of one rule at one place [k8s: 1,000,000, most of which take less time] */
    LIMIT_CEL_STEPS_OBJECT = 450000,     /* of all rules of one object, which is a turn of the loop */

    /* admission policies */
    LIMIT_POLICIES = 256,                /* enforced at a time */
    LIMIT_POLICY_BINDINGS = 1024,
    LIMIT_POLICY_PARAMS = 64,            /* parameter objects of one binding for one write */
    LIMIT_POLICY_BYTES = 32 << 20,       /* of memory for the expressions of one verdict */
    LIMIT_POLICY_NOTES = 64 << 10,       /* bytes that policies add to a request's audit log line */

    /* roles and bindings */
    LIMIT_BINDING_SUBJECTS = 2000,       /* of one */
    LIMIT_ROLE_ENTRIES = 4000,           /* verbs, groups, resources, names and paths of all rules of one role */
    LIMIT_NAMESPACE_BINDINGS = 1000,     /* Roles and RoleBindings of one namespace */
    LIMIT_NAMESPACE_RBAC_BYTES = 3 << 20, /* of their JSON together */

    /* HTTP */
    LIMIT_HTTP_HEADER_BYTES = 32 << 10,  /* request line and headers */
    LIMIT_HTTP_HEADERS = 100,
    LIMIT_HTTP_CONNECTIONS = 10000,
    LIMIT_HTTP_HEADER_MS = 10000,        /* to send request line and headers */
    LIMIT_HTTP_BODY_MS = 60000,          /* to send the body */
    LIMIT_HTTP_IDLE_MS = 120000,         /* keep-alive */
    LIMIT_HTTP_WRITE_MS = 30000,         /* without progress while bytes wait */
    LIMIT_HTTP_BODY_TOTAL = 96 << 20,    /* of all bodies that are being sent */
    LIMIT_HTTP_BODY_ACCOUNT = 24 << 20,  /* of those of one user */
    LIMIT_HTTP_BODY_STRANGER = 64 << 10, /* of a request that nobody vouches for, and ... */
    LIMIT_HTTP_BODY_STRANGERS = 1 << 20, /* ... of all such from one address */
    LIMIT_HTTP_CONNECTIONS_ACCOUNT = 4000, /* of one user */
    LIMIT_HTTP_OUT_BYTES = 16 << 20,     /* bytes waiting for one slow reader, then it is cut */
    LIMIT_HTTP_OUT_TOTAL = 128 << 20,    /* for all readers: beyond it those that stand still are cut */
    LIMIT_HTTP_UPGRADED_MS = 4 * 3600 * 1000, /* as LIMIT_HTTP_WRITE_MS, of a connection with another protocol [k8s] */
    LIMIT_H2_STREAMS = 100,              /* concurrent requests on one HTTP/2 connection [k8s] */
    LIMIT_H2_TURN = 16,                  /* requests started in one turn of the loop */
    LIMIT_H2_WINDOW = 256 << 10,         /* receive window of a stream in bytes, and ... */
    LIMIT_H2_WINDOW_ALL = 1 << 20,       /* ... of a connection */
    LIMIT_H2_TABLE = 4096,               /* HPACK's dynamic table, in each direction */
    LIMIT_H2_CONTINUATIONS = 8,          /* CONTINUATION frames of a header block */
    LIMIT_H2_SETTINGS = 32,              /* entries of one SETTINGS frame */
    LIMIT_H2_CONTROLS = 200,             /* frames that ask for nothing, at once and in a second */
    LIMIT_H2_CREDITS = 1000,             /* WINDOW_UPDATE, likewise, and one for each KiB sent */
    LIMIT_H2_RESETS = 200,               /* streams that end before their answer, at once, and ... */
    LIMIT_H2_RESETS_PER_S = 20,          /* ... in a second */
    LIMIT_WEBSOCKET_MESSAGE = 32 << 20,  /* one message of a client [k8s] */
    LIMIT_WEBSOCKET_CONTROLS = 200,      /* control frames of a client in a second */
    LIMIT_SESSIONS = 2000,               /* with pods: exec, attach, forwarded connections, and ... */
    LIMIT_SESSIONS_USER = 500,           /* ... of one user */
    LIMIT_SESSION_IDLE_MS = 4 * 3600 * 1000, /* without a byte of data either way [k8s] */
    LIMIT_FORWARD_CONNECTIONS = 256,     /* of one port-forward */
    LIMIT_FORWARD_PORTS = 64,            /* named in the query of one */
    LIMIT_FLOW_SEATS = 2400,             /* requests in progress, of all priority levels together */
    LIMIT_FLOWS = 4096,                  /* flows of all levels that are remembered while idle */
    LIMIT_WATCHES = 10000,
    LIMIT_WATCH_BACKLOG = 256 << 10,     /* bytes that wait for one watcher; what follows is read from the history */
    LIMIT_WATCH_BYTES_USER = 16 << 20,   /* that wait for one user; beyond them his watches wait sooner, or end */
    LIMIT_LIST_DEFAULT = 500,
    LIMIT_LIST_PAGE_BYTES = 8 << 20,     /* a page of a list ends after that, whatever its limit */
    LIMIT_LIST_WHOLE_BYTES = 32 << 20,   /* of a list that cannot be streamed (YAML) */
    LIMIT_WEBHOOK_BODY_BYTES = 16 << 20, /* a review that Berth is asked: both objects, or a page of a list */
    LIMIT_WEBHOOKS = 256,                /* of one configuration */
    LIMIT_WEBHOOK_CALLS = 512,           /* that others are being asked at once */
    LIMIT_CONVERSION_BYTES = 64 << 20,   /* cached answers of conversion webhooks, and again of what waits for one */
    LIMIT_CONVERSION_CALLS = 16,         /* of the webhook of one kind at once; more of its objects wait in line */
    LIMIT_WEBHOOK_ANSWERS = 32 << 20,    /* bytes of what one write asked and was answered */
    LIMIT_WEBHOOK_CONNECTIONS = 256,     /* of API servers */

    /* watches of what is computed when asked for */
    LIMIT_COMPUTED_WATCHES = 1000,
    LIMIT_COMPUTED_WATCHES_OF_USER = 64,
    LIMIT_COMPUTED_ANSWER = 12 << 20,    /* bytes of one answer that is watched; less than LIMIT_HTTP_OUT_BYTES */
    LIMIT_COMPUTED_BYTES = 128 << 20,    /* of all of them */

    /* bookings */
    LIMIT_BOOKING_LOOK = 256 << 20,      /* bytes of one look at all that have begun: see BOOKING_LOOK_EACH */
    LIMIT_GRACE_SECONDS = 2147483647,    /* of a pod that ends; more is this much */

    /* history for watch resume */
    LIMIT_HISTORY_EVENTS = 20000,        /* per kind, and at least ... */
    LIMIT_HISTORY_SECONDS = 300,         /* ... this long when memory allows */
    LIMIT_LIST_TOKEN_SECONDS = 300,      /* that a list may be gone on with, page by page */
    LIMIT_HISTORY_BYTES = 64 << 20,      /* per kind, of the objects in it, without older versions */
    LIMIT_WRITES_WAITING = 200000,       /* to an API server, of our controllers */
    LIMIT_WRITES_BYTES = 256 << 20,      /* of their bodies */
    LIMIT_MIRROR_TOMBS = 4096,           /* objects known to be gone before the watch told of it */

    /* a pod on a node */
    LIMIT_LOG_FILE_BYTES = 10 << 20,     /* one container log file before rotation */
    LIMIT_LOG_FILES = 5,
    LIMIT_POD_ENV = 4096,
    LIMIT_EPHEMERAL_CONTAINERS = 16, /* of one pod, ever: they are never taken away */
    LIMIT_PODS_PER_NODE = 1000,
    LIMIT_EXEC_ARGS = 1024,              /* of a command that is executed in a container, and ... */
    LIMIT_EXEC_ARGS_BYTES = 30 << 10,    /* ... their bytes: they come in the line of one request */

    /* the queues */
    LIMIT_WORKLOADS = 2000000,           /* that wait or hold quota, unless told otherwise */
    LIMIT_WORKLOAD_PODS = 100000,        /* of one that is queued */
    LIMIT_WORKLOAD_PLACES = 10000,       /* pods with devices that Berth places, and the devices */
    LIMIT_WORKLOAD_PLAIN = 20000,        /* pods without */
    LIMIT_PLAN_BYTES = 8 << 20,          /* of the JSON that says where all of those are */
    LIMIT_QUEUE_PINS = 2000,             /* places that one ClusterQueue or booking is promised */
    LIMIT_PINS = 50000,                  /* of all; those of bookings beyond are not known before they begin */

    /* time zones and calendars */
    LIMIT_ZONE_BYTES = 64 << 10,         /* one TZif file; the largest known has 4 KB */
    LIMIT_ZONES = 2048,                  /* kept in memory; tzdata has some 600 names */
    LIMIT_RRULE_BYTES = 512,             /* one recurrence rule */
    LIMIT_RRULE_INTERVAL = 1000,
    LIMIT_RRULE_COUNT = 10000,
    LIMIT_SERIES_OCCURRENCES = 1000,     /* of one series that are looked at: a month back, to the horizon */
    LIMIT_ICAL_BYTES = 4 << 20,          /* one calendar that is served */
    LIMIT_ICAL_TEXT = 4096,              /* one text in it, the rest is cut */
    LIMIT_ICAL_EVENTS = 5000,            /* of one calendar */

    /* files of models */
    LIMIT_MODEL_CONFIG_BYTES = 4 << 20,  /* config.json */
    LIMIT_MODEL_HEADER_BYTES = 96 << 20, /* of a safetensors or GGUF file: the latter has the vocabulary in it */
    LIMIT_MODEL_TENSORS = 200000,        /* of one file, or of one index */
    LIMIT_MODEL_FILES = 2000,            /* of one model */
    LIMIT_GGUF_KEYS = 65536,
    LIMIT_CATALOG_BYTES = 16 << 20,      /* of one file of a catalog */
    LIMIT_CATALOG_MODELS = 20000,
    LIMIT_CATALOG_SHOWN = 2000,          /* models that one answer looks at */
    LIMIT_CATALOG_ITEMS = 1000,          /* of a list or of the custom properties of a model */
    LIMIT_FILTER_NODES = 1000,           /* parts of a filterQuery */
    LIMIT_FILTER_DEPTH = 64,

    /* a simulation */
    LIMIT_SIM_FILE_BYTES = 64 << 20,     /* one manifest, load or trace */
    LIMIT_SIM_LIST = 1000,               /* items of one list of a load */
    LIMIT_SIM_QUEUES = 20000,
    LIMIT_SIM_WORKLOADS = 1500000,       /* with their queues, within LIMIT_STORE_OBJECTS */
    LIMIT_SIM_PODS = 100000,             /* of one workload */
    LIMIT_SIM_MS = 2000000000,           /* one run time or interval: 23 days */
};
/* clang-format on */

#define LIMIT_SIM_ARRIVALS_MS INT64_C(1000000000000) /* of one stream of workloads: 31 years */

#endif

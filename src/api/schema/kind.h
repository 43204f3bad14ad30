/*
 * kind: what the API serves, as a table of kinds.
 *
 * A kind is one resource of one group with one or more versions; objects are stored in the storage version and
 * converted at the edge. kinds_builtin() is the static table; rows of the same shape come at run time (what a
 * CustomResourceDefinition describes, what a cluster serves), so users hold `const struct kind *` and compare pointers.
 * What kinds there are is the process' own fact: changed and asked on the loop thread only. A row that was added is
 * never freed, since objects of it may still be held somewhere.
 */
#ifndef BERTH_API_KIND_H
#define BERTH_API_KIND_H

#include "api/tables/field.h"
#include "api/walk/causes.h"
#include "base/arena.h"
#include "base/err.h"
#include "wire/json/json.h"

struct kind;

/* One cell-producing column of `kubectl get`. */
struct column {
    const char *name, *type,
        *format;  /* type: "string" "integer" "boolean" "date"; format: "name" for the first */
    int priority; /* > 0: only with -o wide */
    const char *doc;
    const char *path;      /* "spec.clusterQueue": taken as is; NULL when `cell` computes it */
    const char *json_path; /* of a custom kind: ".status.conditions[?(@.type=='Ready')].status" */
    /* Of a computed cell that is the status of this condition; for manifests */
    const char *condition;
};

/* Which fields of an object its scale subresource stands for: dotted paths without the first dot; empty: none. */
struct scale_paths {
    struct str spec_path, status_path;
    struct str selector_path; /* a text, or a LabelSelector */
};
struct kind_version {
    const char *version;         /* "v1" */
    const struct schema *schema; /* of the whole object, apiVersion, kind and metadata included */
    bool deprecated;             /* answered with a Warning header */
    const char *deprecation;     /* its text, of a built-in kind; NULL: the usual one */
    /* To and from the storage version, in place; NULL for the storage version itself. */
    int (*to_storage)(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
    int (*from_storage)(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
    bool hidden; /* not served: objects are only stored in it */
    /* Of a custom kind: to and from storage change more than the name of the version */
    bool converts;
    /* Of a custom kind: objects that were written up to this revision have not all of its defaults, which are filled in
     * when they are read. 0: it has none */
    uint64_t defaults_since;
    bool asks; /* somebody else's webhook knows how: kinds_converter's function is called */
    const struct scale_paths *scale; /* NULL: none, or a custom kind's (crd_kind_scale) */
    /* Custom kinds have these in each version; NULL: the kind's. */
    const struct column *columns;
    size_t n_columns;
    const char *const *selectable;
};

enum kind_flag {
    KIND_NAMESPACED = 1 << 0,
    KIND_STATUS = 1 << 1,           /* has the status subresource */
    KIND_GENERATION = 1 << 2,       /* metadata.generation is kept */
    KIND_CREATE_ON_UPDATE = 1 << 3, /* PUT of a missing object creates it */
    KIND_RV_REQUIRED = 1 << 4,      /* PUT needs metadata.resourceVersion */
    KIND_RETURNS_DELETED = 1 << 5,  /* DELETE answers with the object, not a Status */
    KIND_ORPHANS = 1 << 6,          /* default propagation is Orphan (Job, ReplicationController) */
    KIND_CUSTOM = 1 << 7,     /* a custom resource: no strategic merge, kind required in bodies */
    KIND_LABEL_NAME = 1 << 8, /* the name is a DNS-1123 label (Namespace, Service) */
    KIND_PATH_NAME = 1 << 9,  /* the name is a path segment (RBAC) */
    KIND_VIRTUAL = 1 << 10,   /* answered without storage (reviews); no list, watch, delete */
    KIND_GRACEFUL = 1 << 11,  /* graceful deletion (Pod) */
    /* Computed when asked for, by whoever registered for it (port/virtual.h): get, list and watch; with KIND_VIRTUAL
     * create; with subresources only get of those. */
    KIND_COMPUTED = 1 << 12,
    /* Who writes the status may write annotations with it, but those that steer (status_notes.h): as in Kubernetes. */
    KIND_STATUS_NOTES = 1 << 15,
};

struct kind {
    const char *group; /* "" for core */
    const char *kind, *plural, *singular;
    const char *
        api_version; /* of the storage version; of rows that are added at run time, and of few others */
    const char *list_kind;          /* NULL: the kind with List behind it */
    const char *const *short_names; /* NULL-terminated, or NULL */
    const char *const *categories;
    unsigned flags;
    const struct kind_version *versions; /* most preferred first */
    size_t n_versions, storage;          /* index of the storage version */
    const struct column *columns;
    size_t n_columns;
    const char *const
        *selectable; /* field selectors besides metadata.name/namespace: "spec.nodeName", ... */
    const char *const
        *subresources; /* besides status: "log", "token", "finalize", ...; NULL-terminated */

    /* The kind in whose form and under whose name objects of this one are stored (events.k8s.io's Event is core/v1's
     * Event): its to_storage leads there, and lists, watches and the mirror use that kind. NULL: itself. */
    const struct kind *stored_as;

    /* Nothing acts on objects of this kind yet: the Warning with which each create and change is answered. Clusters get
     * no definition of such a kind. NULL: something does. */
    const char *notice;

    /* Hooks for what a table cannot say; each may be NULL. They see the storage version.
     * `old` is NULL on create. `now` is wall time in ns. */
    void (*set_defaults)(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
    void (*prepare)(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now);
    void (*check)(yyjson_mut_val *obj, yyjson_val *old, struct causes *causes);
    /* The cell of column `i` as JSON text; ages relative to now. */
    void (*cell)(yyjson_val *obj, size_t i, int64_t now, struct buf *out);
};

/* The table of built-in kinds (rows.c): what is served as resources, in discovery order, and bodies that are none. */
struct kind_rows {
    const struct kind *const *served, *const *bodies;
    size_t n_served, n_bodies;
};
extern const struct kind_rows kind_rows;
/* The static rows that are served as resources, in discovery order. */
const struct kind *const *kinds_builtin(size_t *ret_n);
/* Those of them that are not hidden, then the added ones in order of addition. Valid until the next change. */
const struct kind *const *kinds_all(size_t *ret_n);
/* Adds a row, found from then on by the functions below. ERR_EXISTS when its group and plural are taken, ERR_NOMEM. */
int kinds_add(const struct kind *k, struct err *err);
void kinds_remove(const struct kind *k); /* no-op when it is not there; the row itself lives on */
/* Another number after each change of what kinds there are or how they look (kinds_touch: a row changed in place). */
uint64_t kinds_generation(void);
void kinds_touch(void);
/* The static rows of a group are found no more: for a server that gets them as CustomResourceDefinitions. Before
 * anything else asks. ERR_NOMEM. */
int kinds_hide(const char *group);
/* Bodies that are no resource of their own; kind_by_name and kind_by_api_version find them too. */
extern const struct kind kind_delete_options, kind_eviction, kind_token_request, kind_status;
/* Kueue's Configuration: a file's form, found by no name. */
extern const struct kind kind_kueue_configuration;
static inline const struct kind *kind_stored(const struct kind *k) {
    return k->stored_as ? k->stored_as : k;
}
/* NULL when there is none. */
const struct kind *kind_by_resource(struct str group, struct str version, struct str plural);
const struct kind *kind_by_name(struct str group, struct str kind); /* by Kind */
/* "apps/v1" or "v1". */
const struct kind *kind_by_api_version(struct str api_version, struct str kind);
const struct kind_version *kind_version(const struct kind *k, struct str version);
const struct kind_version *kind_storage(const struct kind *k);
/* "v1", "batch/v1": of the storage version. */
const char *kind_api_version(const struct kind *k);

/* Who converts objects of versions that ask: to `version`, in place, whatever version d is in. ERR_AGAIN: it is not
 * known yet (server/kit/convert.h). NULL: nobody, and such conversions fail. */
typedef int kind_converter(void *ctx, const struct kind *k, const char *version, yyjson_mut_doc *d,
                           struct err *err);
void kinds_converter(kind_converter *f, void *ctx);

/* A conversion between versions that differ in name only. */
int convert_nothing(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);

#endif

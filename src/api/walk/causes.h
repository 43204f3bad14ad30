/* causes: violated rules as Kubernetes' Status tells them. */
#ifndef BERTH_API_CAUSES_H
#define BERTH_API_CAUSES_H

#include "base/arena.h"
#include "base/buf.h"
#include "wire/json/json.h"

/* One violated rule. Paths are ours: "spec.template.spec.containers[0].name". */
enum cause_type {
    CAUSE_REQUIRED,      /* FieldValueRequired      "Required value" */
    CAUSE_INVALID,       /* FieldValueInvalid       "Invalid value: <v>: <text>" */
    CAUSE_NOT_SUPPORTED, /* FieldValueNotSupported  "Unsupported value: ..." */
    CAUSE_DUPLICATE,     /* FieldValueDuplicate */
    CAUSE_FORBIDDEN,     /* FieldValueForbidden */
    CAUSE_TOO_LONG,      /* FieldValueTooLong */
    CAUSE_TOO_MANY,      /* FieldValueTooMany */
    CAUSE_TYPE,          /* FieldValueTypeInvalid */
    CAUSE_NOT_FOUND,     /* FieldValueNotFound      "Not found: <v>" */
};
struct cause {
    enum cause_type type;
    struct str field, text; /* text: the whole message after "field: " */
};
struct causes {
    struct arena *arena; /* the texts and the array live here */
    struct cause *v;
    size_t n, cap;
    size_t bytes; /* of the texts; beyond LIMIT_CAUSES or LIMIT_CAUSES_BYTES no more are kept */
    bool status_alone; /* all but the status is as it was stored: rules about that need not look */
    bool ephemeral;    /* of a pod: its ephemeral containers are written, and nothing else */
    yyjson_mut_val *claims; /* of a StatefulSet: their names count among the volumes */
    bool claims_elsewhere;  /* mounts may name what is not among the volumes */
};
void causes_add(struct causes *c, enum cause_type type, struct str field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

struct str cause_reason(enum cause_type t); /* "FieldValueInvalid" */
/* `ClusterQueue.kueue.x-k8s.io "x" is invalid: [spec.a: Required value, ...]` */
void causes_message(struct buf *b, const char *group, const char *kind, struct str name,
                    const struct causes *c);

#endif

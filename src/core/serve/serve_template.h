/*
 * serve_template (core): arguments of a runtime's containers with what they name of the InferenceService filled in.
 *
 * KServe runs Go's templates over the container; what they are used for is metadata, which is all that is understood
 * here:
 *
 *     {{.Name}} {{ .Namespace }} {{.Labels.team}} {{.Annotations.x}} {{index .Labels "a.b/c"}} {{index .Annotations
 *       "x"}}
 *
 * with blanks and the trimming marks of Go ("{{-", "-}}"). A label that is not there is empty, as in KServe. Anything
 * else between "{{" and "}}" is refused with its text, rather than passed to a server as it stands.
 */
#ifndef BERTH_CORE_SERVE_TEMPLATE_H
#define BERTH_CORE_SERVE_TEMPLATE_H

#include "api/tables/field.h"
#include "base/buf.h"
#include "base/err.h"

struct serve_meta {
    struct str name, namespace;
    const struct str_map *labels, *annotations; /* NULL: none */
};

/* Appends. ERR_INVALID: the text names the expression; check buf_ok() as well. */
int serve_template(struct str text, const struct serve_meta *m, struct buf *out, struct err *err);

#endif

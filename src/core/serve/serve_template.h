/*
 * serve_template (core): fills the metadata of an InferenceService into the arguments of its runtime's containers.
 *
 * KServe runs Go templates over the container. In practice they name metadata, and only that is supported here:
 *
 *     {{.Name}} {{ .Namespace }} {{.Labels.team}} {{.Annotations.x}}
 *     {{index .Labels "a.b/c"}} {{index .Annotations "x"}}
 *
 * with blanks and Go's trim markers ("{{-", "-}}"). A missing label gives an empty string, as in KServe. Anything else
 * between "{{" and "}}" is refused with its text instead of being passed to a server unchanged.
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

/*
 * crd_kind: the row of a kind (api/schema/kind.h) made from a CustomResourceDefinition, at run time.
 *
 * Rows are kept for the life of the process: objects, watches and requests hold pointers into them. A definition that
 * changes changes its row in place; one that comes again after it was deleted gets the row it had.
 */
#ifndef BERTH_API_CRD_KIND_H
#define BERTH_API_CRD_KIND_H

#include "api/schema/kind.h"

/* Makes, or changes, the row of the definition `crd` (a whole, valid object). The row is not added to the kinds that
 * are served. A schema that is as before is not compiled again. ERR_NOMEM, ERR_TOO_LARGE. */
int crd_kind_make(yyjson_val *crd, const struct kind **ret, struct err *err);
/* The row that was made for this group and plural, or NULL. */
const struct kind *crd_kind_find(struct str group, struct str plural);
/* Of custom and of built-in kinds. NULL: the version has no scale subresource. */
const struct scale_paths *crd_kind_scale(const struct kind_version *kv);
/* Whether objects of this kind are converted by ourselves where a definition names a webhook (Kueue's kinds). */
bool crd_converts(struct str group, struct str kind);
/* Kubernetes' order of versions, for sorting: negative when a is preferred (v2, v1, v2beta1, v1alpha1, ...). */
int crd_version_order(struct str a, struct str b);
/* The text of the Warning for a deprecated version; empty: the usual one. */
struct str crd_kind_deprecation(const struct kind_version *kv);

#endif

/*
 * body (server): request bodies to trees of the kind asked for.
 *
 * JSON, YAML or protobuf; apiVersion and kind are filled in from the URL where a built-in kind leaves them out, and
 * refused where they differ. Unknown and repeated fields are dropped, and reported as fieldValidation wants: silently,
 * as warnings, or as one 400 that names them all.
 */
#ifndef BERTH_SERVER_BODY_H
#define BERTH_SERVER_BODY_H

#include "server/write/pipeline.h"

/* Decodes w->body into w->doc, in the storage version, pruned. Fills w->failure. */
int body_decode(struct write *w);
/* The body of an apply, JSON or YAML, into w->doc, in the version asked for, not pruned. */
int body_config(struct write *w);
/* Prunes a patched tree in the version asked for (w->doc) and converts it to storage. */
int body_finish_patch(struct write *w);
/* Fills w->failure for a body that could not be read. */
int body_bad(struct write *w, const struct err *err);
/* JSON that somebody sent. ERR_SYNTAX, ERR_TOO_LARGE beyond LIMIT_BODY_VALUES, ERR_NOMEM. */
int body_parse(struct arena *a, struct str body, yyjson_doc **ret, struct err *err);
/* A body of another kind (Binding, Eviction, DeleteOptions, TokenRequest): a tree, or NULL in *ret
 * when empty. */
int body_any(struct arena *a, struct str body, enum body_type type, yyjson_mut_doc **ret,
             struct failure *f);

#endif

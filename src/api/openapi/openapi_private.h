/* openapi_private: what the files of this folder share; the manual is openapi.h. */
#ifndef BERTH_API_OPENAPI_PRIVATE_H
#define BERTH_API_OPENAPI_PRIVATE_H

#include "api/openapi/openapi.h"
#include "api/openapi/place.h"

/* "name":"value" with the comma before it. */
void openapi_pair(struct buf *b, const char *name, struct str value);
/* "$ref":"#/..." to a component. */
void openapi_ref(struct buf *b, bool v2, struct str component);
void openapi_gvk(struct buf *b, struct str group, struct str version, struct str kind);

/* A place and all below it, braces included. `own` is added at its end: a member, or nothing. */
void openapi_schema(struct buf *b, bool v2, const struct place *p, struct str own);
/* "Name":{...} of the components that every document has. */
void openapi_common(struct buf *b, bool v2);
/* "Name":{...},"NameList":{...} of a custom kind. */
void openapi_custom(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv);
/* "NameList":{...} */
void openapi_list(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv);

/* "/apis/...":{...},... of a version of a kind. */
void openapi_paths(struct buf *b, bool v2, const struct kind *k, const struct kind_version *kv);
/* "name":{...},... of all parameters. */
void openapi_parameters(struct buf *b, bool v2);
/* The table of a subresource's body: the resource's own where it has none; NULL: no schema. */
const struct schema *openapi_body(const struct kind_version *kv, const char *kind);

/* Parts of gnostic's Document, from the members of JSON objects. ERR_NOMEM. */
enum gnostic_part { GNOSTIC_PATHS = 8, GNOSTIC_DEFINITIONS = 9, GNOSTIC_PARAMETERS = 10 };
int gnostic_part(enum gnostic_part part, struct str members, struct buf *out);
void gnostic_head(struct str title, struct str version, struct buf *out);

#endif

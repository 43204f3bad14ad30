/*
 * render (server): objects as a client asked for them: version, shape (object, Table,
 * PartialObjectMetadata), JSON or YAML.
 *
 * The common case, the storage version as JSON, sends the object's own bytes. Everything else parses into the scratch
 * arena, which is reset for each object: nothing here may be kept.
 */
#ifndef BERTH_SERVER_RENDER_H
#define BERTH_SERVER_RENDER_H

#include "mirror/object.h"
#include "server/kit/negotiate.h"

struct render {
    const struct kind *kind;
    const struct kind_version *kv;
    struct media media;
    struct str include_object; /* of tables: "None", "Metadata" (or empty), "Object" */
    int64_t now;               /* for ages */
    struct arena *scratch;
};

bool render_plain(const struct render *r); /* the object's own bytes will do */

/* One object as a document: the object, a Table of one row, or its metadata. 0 or a code; check
 * buf_ok(out) too. */
int render_object(const struct render *r, const struct object *o, struct buf *out, struct err *err);

/* A list: head, items, tail. `rv` and the rest of the metadata stand at the front. */
void render_list_head(const struct render *r, uint64_t rv, struct str continue_token,
                      int64_t remaining, struct buf *out);
int render_list_item(const struct render *r, const struct object *o, bool first, struct buf *out,
                     struct err *err);
void render_list_tail(const struct render *r, struct buf *out);

/* Turns the JSON document in b into YAML, in place. */
int render_yaml(struct buf *b, struct arena *a, struct err *err);
/* "application/json" or "application/yaml". */
const char *render_type(const struct media *m);

#endif

/*
 * render (server): objects as a client asked for them: version, shape (object, Table,
 * PartialObjectMetadata), JSON, YAML or protobuf.
 *
 * YAML is made of the whole JSON text, at the end. Protobuf is made object by object; a list is whole with its tail,
 * which puts the envelope around it, so neither can be sent before it is.
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
/* Protobuf of the one JSON document in b, in place, where its kind has it; else it stays, and is sent as JSON. */
int render_protobuf(struct buf *b, struct arena *a, struct err *err);
bool render_protobuf_kind(const struct kind *k,
                          const struct kind_version *kv); /* can be asked for in it */
bool render_whole(const struct media *m); /* nothing can be sent before all is there */
/* "application/json", ... */
const char *render_type(const struct media *m);
/* Puts into out the event `type` of a watch with the object that is there: a line of JSON, or a message with its length
 * in front. */
void render_event(const struct media *m, const char *type, struct str object, struct buf *out);
const char *render_event_type(const struct media *m);

#endif

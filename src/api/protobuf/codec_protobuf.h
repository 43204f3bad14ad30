/*
 * codec_protobuf: objects in protobuf, by the numbers in the tables of their kinds: bodies in, answers out.
 *
 * The wire format and the envelope are wire/protobuf.h.
 */
#ifndef BERTH_API_CODEC_PROTOBUF_H
#define BERTH_API_CODEC_PROTOBUF_H

#include "api/schema/kind.h"

/* A protobuf body ("k8s\0" envelope; wire/protobuf.h) to JSON of the kind named inside. *ret_kind gets that kind. */
int codec_from_protobuf(struct str body, struct arena *a, yyjson_mut_doc **ret,
                        const struct kind **ret_kind, const struct kind_version **ret_version,
                        struct err *err);

/* Whether objects of this version have a protobuf form: built-in kinds of Kubernetes have. */
bool codec_has_protobuf(const struct schema *s);
/* The other way: appends the object's message, without an envelope, to out. ERR_UNSUPPORTED for a member without a tag:
 * what was appended is worth nothing then. */
int codec_to_protobuf(const struct schema *s, yyjson_val *obj, struct arena *a, struct buf *out,
                      struct err *err);

#endif

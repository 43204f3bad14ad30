/*
 * protobuf: a pull reader of the proto2 wire format, a writer, and Kubernetes' envelope around it.
 *
 *     struct pb r = pb_of(bytes);
 *     struct pb_field f;
 *     while (pb_next(&r, &f)) { switch (f.number) { case 1: name = f.bytes; ... } }
 *     if (r.bad) ...malformed
 *
 * Nothing is allocated or copied: bytes of strings and messages are views of the input. Bounds are checked before each
 * read; the first fault sticks in `bad` and ends the reading. Groups, which Kubernetes does not use, are refused.
 */
#ifndef BERTH_WIRE_PROTOBUF_H
#define BERTH_WIRE_PROTOBUF_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb {
    const uint8_t *p, *end;
    const char *bad; /* NULL, or what is wrong; sticky */
};

struct pb_field {
    uint32_t number; /* 1 .. 2^29 - 1 */
    enum pb_wire wire;
    uint64_t value;   /* PB_VARINT, PB_FIXED64, PB_FIXED32 */
    struct str bytes; /* PB_BYTES */
};

struct pb pb_of(struct str bytes);
bool pb_next(struct pb *r, struct pb_field *ret); /* false at the end, and when bad */
/* One varint of a packed list; false at the end, and when bad. */
bool pb_varint(struct pb *r, uint64_t *ret);

static inline int64_t pb_i64(const struct pb_field *f) {
    return (int64_t)f->value;
}
static inline int64_t pb_zigzag(uint64_t v) {
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
double pb_double(const struct pb_field *f); /* PB_FIXED64 */

/* Kubernetes' envelope: "k8s\0" and a message runtime.Unknown. Views of the body. */
struct pb_envelope {
    struct str api_version, kind;
    struct str raw; /* the object's message */
    struct str content_encoding, content_type;
};
/* ERR_SYNTAX. */
int pb_envelope(struct str body, struct pb_envelope *ret, struct err *err);

/*
 * Writing appends to a buf; ask buf_ok once. A message inside is what stands between pb_begin and pb_end:
 *
 *     size_t at = pb_begin(&b, 2);
 *     pb_put_bytes(&b, 1, name);
 *     pb_end(&b, at);
 */
void pb_put_varint(struct buf *b, uint32_t number, uint64_t value);
void pb_put_double(struct buf *b, uint32_t number, double value);
void pb_put_bytes(struct buf *b, uint32_t number, struct str bytes);
size_t pb_begin(struct buf *b, uint32_t number);
void pb_end(struct buf *b, size_t at);
/* Puts the envelope around the message that begins at `from` and ends the buf. */
void pb_put_envelope(struct buf *b, size_t from, struct str api_version, struct str kind);
bool pb_is_envelope(struct str body); /* it begins as one */

#endif

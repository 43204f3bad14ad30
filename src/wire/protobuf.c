/* protobuf: a pull reader of the proto2 wire format. See protobuf.h. */
#include "wire/protobuf.h"

#include <string.h>

struct pb pb_of(struct str bytes) {
    const uint8_t *p = (const uint8_t *)bytes.p;
    return (struct pb){.p = p, .end = p ? p + bytes.n : p};
}

static bool fail(struct pb *r, const char *why) {
    r->bad = why;
    r->p = r->end;
    return false;
}

bool pb_varint(struct pb *r, uint64_t *ret) {
    uint64_t v = 0;
    if (r->bad || r->p == r->end) {
        return false;
    }
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->p == r->end) {
            return fail(r, "a number is cut off");
        }
        uint8_t byte = *r->p++;
        if (shift == 63 && byte > 1) {
            return fail(r, "a number is longer than 64 bits");
        }
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret = v;
            return true;
        }
    }
    return fail(r, "a number is longer than 64 bits");
}

/* Little-endian, as on the wire. */
static bool fixed(struct pb *r, size_t n, uint64_t *ret) {
    uint64_t v = 0;
    if ((size_t)(r->end - r->p) < n) {
        return fail(r, "a fixed-size number is cut off");
    }
    for (size_t i = 0; i < n; i++) {
        v |= (uint64_t)r->p[i] << (8 * i);
    }
    r->p += n;
    *ret = v;
    return true;
}

static bool length_delimited(struct pb *r, struct str *ret) {
    uint64_t n;
    if (!pb_varint(r, &n)) {
        return r->bad ? false : fail(r, "a length is missing");
    }
    if (n > (uint64_t)(r->end - r->p)) {
        return fail(r, "a length reaches beyond the end");
    }
    *ret = str_from((const char *)r->p, (size_t)n);
    r->p += n;
    return true;
}

bool pb_next(struct pb *r, struct pb_field *ret) {
    uint64_t key;
    struct pb_field f = {0};
    if (!pb_varint(r, &key)) {
        return false;
    }
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff) {
        return fail(r, "a field number is out of range");
    }
    f.number = (uint32_t)(key >> 3);
    f.wire = (enum pb_wire)(key & 7);
    bool ok;
    switch (f.wire) {
    case PB_VARINT:
        ok = pb_varint(r, &f.value) || (r->bad == NULL && fail(r, "a number is missing"));
        break;
    case PB_FIXED64:
        ok = fixed(r, 8, &f.value);
        break;
    case PB_FIXED32:
        ok = fixed(r, 4, &f.value);
        break;
    case PB_BYTES:
        ok = length_delimited(r, &f.bytes);
        break;
    default:
        ok = fail(r, "a wire type is unknown");
    }
    if (ok) {
        *ret = f;
    }
    return ok;
}

double pb_double(const struct pb_field *f) {
    double d;
    memcpy(&d, &f->value, sizeof(d));
    return d;
}

static void take_type_meta(struct str bytes, struct pb_envelope *e, const char **bad) {
    struct pb r = pb_of(bytes);
    for (struct pb_field f; pb_next(&r, &f);) {
        if (f.wire == PB_BYTES && f.number == 1) {
            e->api_version = f.bytes;
        } else if (f.wire == PB_BYTES && f.number == 2) {
            e->kind = f.bytes;
        }
    }
    *bad = *bad ? *bad : r.bad;
}

int pb_envelope(struct str body, struct pb_envelope *ret, struct err *err) {
    const struct str magic = {"k8s\0", 4};
    if (!str_starts(body, magic)) {
        return err_set(err, ERR_SYNTAX, "the body does not begin with the protobuf prefix \"k8s\"");
    }
    struct pb_envelope e = {0};
    struct pb r = pb_of(str_skip(body, magic.n));
    const char *bad = NULL;
    for (struct pb_field f; pb_next(&r, &f);) {
        if (f.wire != PB_BYTES) {
            continue;
        }
        switch (f.number) {
        case 1:
            take_type_meta(f.bytes, &e, &bad);
            break;
        case 2:
            e.raw = f.bytes;
            break;
        case 3:
            e.content_encoding = f.bytes;
            break;
        case 4:
            e.content_type = f.bytes;
            break;
        default:
            break;
        }
    }
    bad = bad ? bad : r.bad;
    if (bad) {
        return err_set(err, ERR_SYNTAX, "invalid protobuf: %s", bad);
    }
    *ret = e;
    return 0;
}

/* ---- writing ---- */

static size_t varint_bytes(uint64_t v, uint8_t out[10]) {
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) {
        out[n++] = (uint8_t)(v | 0x80);
    }
    out[n++] = (uint8_t)v;
    return n;
}

static void put_raw(struct buf *b, uint64_t v) {
    uint8_t bytes[10];
    buf_add(b, bytes, varint_bytes(v, bytes));
}

static void put_tag(struct buf *b, uint32_t number, enum pb_wire wire) {
    put_raw(b, (uint64_t)number << 3 | wire);
}

void pb_put_varint(struct buf *b, uint32_t number, uint64_t value) {
    put_tag(b, number, PB_VARINT);
    put_raw(b, value);
}

void pb_put_double(struct buf *b, uint32_t number, double value) {
    uint64_t v;
    uint8_t bytes[8];
    memcpy(&v, &value, sizeof(v));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(v >> (8 * i));
    }
    put_tag(b, number, PB_FIXED64);
    buf_add(b, bytes, sizeof(bytes));
}

void pb_put_bytes(struct buf *b, uint32_t number, struct str bytes) {
    put_tag(b, number, PB_BYTES);
    put_raw(b, bytes.n);
    buf_str(b, bytes);
}

static void insert(struct buf *b, size_t at, struct str bytes) {
    char *room = buf_ok(b) == 0 ? buf_room(b, bytes.n) : NULL;
    if (room) {
        memmove(b->p + at + bytes.n, b->p + at, b->n - at);
        memcpy(b->p + at, bytes.p, bytes.n);
        b->n += bytes.n;
    }
}

size_t pb_begin(struct buf *b, uint32_t number) {
    put_tag(b, number, PB_BYTES);
    return b->n;
}

void pb_end(struct buf *b, size_t at) {
    uint8_t bytes[10];
    if (buf_ok(b) == 0) {
        insert(b, at, str_from((const char *)bytes, varint_bytes(b->n - at, bytes)));
    }
}

static const char magic[4] = {'k', '8', 's', 0};

void pb_put_envelope(struct buf *b, size_t from, struct str api_version, struct str kind) {
    struct buf head;
    buf_init(&head, 4096);
    buf_add(&head, magic, sizeof(magic));
    size_t at = pb_begin(&head, 1);
    pb_put_bytes(&head, 1, api_version);
    pb_put_bytes(&head, 2, kind);
    pb_end(&head, at);
    put_tag(&head, 2, PB_BYTES);
    put_raw(&head, b->n - from);
    if (buf_ok(b) == 0 && buf_ok(&head) == 0) {
        insert(b, from, buf_view(&head));
        pb_put_bytes(b, 3, STR(""));
        pb_put_bytes(b, 4, STR(""));
    } else if (buf_ok(b) == 0) {
        b->failed = buf_ok(&head);
    }
    buf_release(&head);
}

bool pb_is_envelope(struct str body) {
    return str_starts(body, str_from(magic, sizeof(magic)));
}

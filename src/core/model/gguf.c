/* gguf: see gguf.h. A cursor that knows what it lacks; every number in the file is taken for hostile. */
#include "core/model/gguf.h"

#include "base/limits.h"

enum gguf_wire { /* types of values in the file */
                 W_U8,
                 W_I8,
                 W_U16,
                 W_I16,
                 W_U32,
                 W_I32,
                 W_F32,
                 W_BOOL,
                 W_TEXT,
                 W_LIST,
                 W_U64,
                 W_I64,
                 W_F64,
                 W_COUNT
};

enum { TEXT_MAX = 1 << 24, NAME_MAX_BYTES = 512, ALIGNMENT = 32, ALIGNMENT_MAX = 1 << 20 };

struct gguf_cursor {
    struct arena *arena;
    struct str in;
    size_t at;
    int64_t file_bytes, need;
    int code; /* the first failure; later reads give zeros */
    struct err *err;
};

static int stop(struct gguf_cursor *c, int code, const char *what, struct str name) {
    struct str shown = str_head(name, name.n < 128 ? name.n : 128);
    if (c->code == 0) {
        c->code = err_set(c->err, code, "%s%.*s%s%s", shown.n ? "\"" : "", STR_ARG(shown),
                          shown.n ? "\": " : "", what);
    }
    return c->code;
}

/* n more bytes, or NULL with the reason in c. */
static const char *take(struct gguf_cursor *c, uint64_t n) {
    uint64_t end = (uint64_t)c->at + n;
    struct str none = {0};

    if (c->code != 0) {
        return NULL;
    }
    if (end < n || end > (uint64_t)(c->file_bytes < 0 ? 0 : c->file_bytes)) {
        stop(c, ERR_SYNTAX, "not a GGUF file, or cut short: its head goes on beyond its end", none);
        return NULL;
    }
    if (end > LIMIT_MODEL_HEADER_BYTES) {
        err_set(c->err, ERR_TOO_LARGE, "the head has more than %d bytes", LIMIT_MODEL_HEADER_BYTES);
        c->code = ERR_TOO_LARGE;
        return NULL;
    }
    if (end > c->in.n) {
        c->need = (int64_t)end;
        c->code =
            err_set(c->err, ERR_AGAIN, "the head has at least %llu bytes", (unsigned long long)end);
        return NULL;
    }
    const char *p = c->in.p + c->at;
    c->at = (size_t)end;
    return p;
}

static uint64_t number(struct gguf_cursor *c, int bytes) {
    const char *p = take(c, (uint64_t)bytes);
    uint64_t n = 0;
    for (int i = bytes; p != NULL && i-- > 0;) {
        n = n << 8 | (unsigned char)p[i];
    }
    return n;
}

static struct str text(struct gguf_cursor *c, uint64_t most, const char *what) {
    uint64_t n = number(c, 8);
    struct str none = {0};
    if (c->code == 0 && n > most) {
        stop(c, ERR_TOO_LARGE, what, none);
    }
    const char *p = take(c, n);
    return p != NULL ? str_from(p, (size_t)n) : none;
}

/* ---- keys ---- */

static int width_of(uint64_t type) {
    static const int8_t widths[W_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < W_COUNT ? widths[type] : 0;
}

static bool is_whole(uint64_t type) {
    return type <= W_I32 || type == W_BOOL || type == W_U64 || type == W_I64;
}

/* A whole number with its sign; what does not fit becomes the largest. */
static int64_t whole(struct gguf_cursor *c, uint64_t type) {
    uint64_t n = number(c, width_of(type));
    switch (type) {
    case W_I8:
        return (int8_t)n;
    case W_I16:
        return (int16_t)n;
    case W_I32:
        return (int32_t)n;
    case W_I64:
        return (int64_t)n;
    default:
        return n > INT64_MAX ? INT64_MAX : (int64_t)n;
    }
}

static double real(struct gguf_cursor *c, uint64_t type) {
    uint64_t n = number(c, width_of(type));
    double d;
    float f;
    uint32_t half = (uint32_t)n;
    memcpy(&d, &n, sizeof(d));
    memcpy(&f, &half, sizeof(f));
    return type == W_F32 ? (double)f : d;
}

static void skip_texts(struct gguf_cursor *c, uint64_t n) {
    for (uint64_t i = 0; i < n && c->code == 0; i++) {
        text(c, TEXT_MAX, "a text of a list is too long");
    }
}

static void read_list(struct gguf_cursor *c, struct gguf_value *v) {
    uint64_t type = number(c, 4), n = number(c, 8), bytes;

    if (c->code != 0) {
        return;
    }
    if (type == W_TEXT) {
        skip_texts(c, n);
    } else if (width_of(type) == 0) {
        stop(c, ERR_UNSUPPORTED, "a list of a type that is not known", v->key);
    } else if (is_whole(type) && n <= GGUF_LIST_MAX) {
        v->list = ARENA_ARRAY(c->arena, int64_t, (size_t)n + 1);
        for (uint64_t i = 0; v->list != NULL && i < n && c->code == 0; i++) {
            v->list[i] = whole(c, type);
        }
        v->n_list = (size_t)n;
        v->kind = GGUF_LIST;
        if (v->list == NULL) {
            stop(c, ERR_NOMEM, "no memory", v->key);
        }
    } else if (__builtin_mul_overflow(n, (uint64_t)width_of(type), &bytes)) {
        stop(c, ERR_SYNTAX, "the length of a list overflows", v->key);
    } else {
        take(c, bytes);
    }
}

static void read_value(struct gguf_cursor *c, struct gguf_value *v) {
    v->key = text(c, NAME_MAX_BYTES, "a key is too long");
    uint64_t type = number(c, 4);

    if (c->code != 0) {
        return;
    }
    if (type == W_TEXT) {
        v->text = text(c, TEXT_MAX, "a text is too long");
        v->kind = GGUF_TEXT;
    } else if (type == W_LIST) {
        read_list(c, v);
    } else if (type == W_F32 || type == W_F64) {
        v->real = real(c, type);
        v->kind = GGUF_REAL;
    } else if (type < W_COUNT) {
        v->whole = whole(c, type);
        v->kind = type == W_BOOL ? GGUF_BOOL : GGUF_WHOLE;
    } else {
        stop(c, ERR_UNSUPPORTED, "a value of a type that is not known", v->key);
    }
}

const struct gguf_value *gguf_key(const struct gguf *g, struct str key) {
    for (size_t i = g->n_keys; i-- > 0;) {
        if (str_eq(g->keys[i].key, key)) {
            return &g->keys[i];
        }
    }
    return NULL;
}

const struct gguf_value *gguf_arch(const struct gguf *g, const char *name) {
    const struct gguf_value *arch = gguf_key(g, STR("general.architecture"));
    struct str want = str_of(name);

    if (arch == NULL || arch->kind != GGUF_TEXT) {
        return NULL;
    }
    for (size_t i = g->n_keys; i-- > 0;) {
        struct str key = g->keys[i].key;
        if (key.n == arch->text.n + 1 + want.n && str_starts(key, arch->text) &&
            key.p[arch->text.n] == '.' && str_ends(key, want)) {
            return &g->keys[i];
        }
    }
    return NULL;
}

int64_t gguf_whole(const struct gguf *g, const char *name, int64_t otherwise) {
    const struct gguf_value *v = gguf_arch(g, name);
    return v != NULL && v->kind == GGUF_WHOLE ? v->whole : otherwise;
}

/* ---- tensors ---- */

static void measure(struct gguf_cursor *c, struct gguf_tensor *t, const int64_t *dims,
                    uint32_t type) {
    int64_t per, bytes, row = dims[0];
    const char *name;

    if (!gguf_type(type, &name, &per, &bytes)) {
        stop(c, ERR_UNSUPPORTED, "a tensor of a type that is not known", t->name);
        return;
    }
    t->type = str_of(name);
    t->elements = 1;
    for (int i = 0; i < GGUF_DIMENSIONS_MAX; i++) {
        if (__builtin_mul_overflow(t->elements, dims[i], &t->elements)) {
            stop(c, ERR_INVALID, "the sizes of a tensor overflow", t->name);
            return;
        }
    }
    if (row % per != 0) {
        stop(c, ERR_INVALID, "rows of a tensor are no whole blocks of its type", t->name);
    } else if (__builtin_mul_overflow(t->elements / per, bytes, &t->bytes)) {
        stop(c, ERR_INVALID, "the bytes of a tensor overflow", t->name);
    }
}

static void read_tensor(struct gguf_cursor *c, struct gguf_tensor *t) {
    int64_t dims[GGUF_DIMENSIONS_MAX] = {1, 1, 1, 1};

    t->name = text(c, NAME_MAX_BYTES, "the name of a tensor is too long");
    uint64_t n = number(c, 4);
    if (c->code == 0 && n > GGUF_DIMENSIONS_MAX) {
        stop(c, ERR_INVALID, "a tensor of more than 4 dimensions", t->name);
    }
    for (uint64_t i = 0; i < n && c->code == 0; i++) {
        uint64_t d = number(c, 8);
        if (d > INT64_MAX) {
            stop(c, ERR_INVALID, "the sizes of a tensor overflow", t->name);
        }
        dims[i] = (int64_t)d;
    }
    uint32_t type = (uint32_t)number(c, 4);
    uint64_t offset = number(c, 8);
    if (c->code == 0 && offset > INT64_MAX) {
        stop(c, ERR_INVALID, "the offset of a tensor overflows", t->name);
    }
    t->offset = (int64_t)offset;
    if (c->code == 0) {
        measure(c, t, dims, type);
    }
}

/* Rounds up to a multiple of `to`; -1: overflow. */
static int64_t padded(int64_t n, int64_t to) {
    int64_t up;
    return __builtin_add_overflow(n, to - 1, &up) ? -1 : up / to * to;
}

static void check_layout(struct gguf_cursor *c, struct gguf *g) {
    const struct gguf_value *v = gguf_key(g, STR("general.alignment"));
    int64_t align = v != NULL && v->kind == GGUF_WHOLE ? v->whole : ALIGNMENT, at = 0;
    struct str none = {0};

    if (align <= 0 || align > ALIGNMENT_MAX || (align & (align - 1)) != 0) {
        stop(c, ERR_INVALID, "expected a power of two", STR("general.alignment"));
        return;
    }
    g->data = padded((int64_t)c->at, align);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        if (at < 0 || t->offset != at) {
            stop(c, ERR_INVALID, "a tensor does not begin where the one before it ends", t->name);
            return;
        }
        if (__builtin_add_overflow(at, t->bytes, &at) ||
            __builtin_add_overflow(g->elements, t->elements, &g->elements)) {
            stop(c, ERR_INVALID, "the sizes of the tensors overflow", t->name);
            return;
        }
        g->bytes += t->bytes;
        if (at > c->file_bytes - g->data) {
            stop(c, ERR_INVALID, "the file ends before its tensors do: it is cut short", none);
            return;
        }
        at = padded(at, align);
    }
}

/* ---- the file ---- */

static void read_counts(struct gguf_cursor *c, struct gguf *g) {
    const char *magic = take(c, 4);
    struct str none = {0};

    if (magic != NULL && memcmp(magic, "GGUF", 4) != 0) {
        stop(c, ERR_SYNTAX, "not a GGUF file: it does not begin with GGUF", none);
    }
    g->version = (uint32_t)number(c, 4);
    if (c->code == 0 && (g->version & 0xffff) == 0) {
        stop(c, ERR_UNSUPPORTED, "a big-endian GGUF file: it is for other machines", none);
    } else if (c->code == 0 && g->version != 2 && g->version != 3) {
        stop(c, ERR_UNSUPPORTED, "the version of this GGUF file is not 2 or 3", none);
    }
    uint64_t tensors = number(c, 8), keys = number(c, 8);
    if (c->code == 0 && (tensors > LIMIT_MODEL_TENSORS || keys > LIMIT_GGUF_KEYS)) {
        stop(c, ERR_TOO_LARGE, "more tensors or keys than are read", none);
    }
    if (c->code != 0) {
        return;
    }
    g->n_tensors = (size_t)tensors;
    g->n_keys = (size_t)keys;
    g->tensors = ARENA_ARRAY(c->arena, struct gguf_tensor, g->n_tensors + 1);
    g->keys = ARENA_ARRAY(c->arena, struct gguf_value, g->n_keys + 1);
    if (g->tensors == NULL || g->keys == NULL) {
        stop(c, ERR_NOMEM, "no memory for the head", none);
    }
}

int gguf_read(struct arena *a, struct str head, int64_t file_bytes, struct gguf *ret,
              int64_t *ret_need, struct err *err) {
    struct gguf_cursor c = {.arena = a, .in = head, .file_bytes = file_bytes, .err = err};
    struct gguf g = {0};

    read_counts(&c, &g);
    for (size_t i = 0; i < g.n_keys && c.code == 0; i++) {
        read_value(&c, &g.keys[i]);
    }
    for (size_t i = 0; i < g.n_tensors && c.code == 0; i++) {
        read_tensor(&c, &g.tensors[i]);
    }
    if (c.code == 0) {
        check_layout(&c, &g);
    }
    if (c.code == ERR_AGAIN) {
        *ret_need = c.need;
    }
    if (c.code == 0) {
        *ret = g;
    }
    return c.code;
}

/* walk: paths, the search for a field, and bytes as text. */
#include "api/walk/walk.h"

void path_write(const struct path *p, struct buf *b) {
    if (p == NULL) {
        return;
    }
    path_write(p->up, b);
    switch (p->step) {
    case PATH_MEMBER:
        if (b->n > 0) {
            buf_ch(b, '.');
        }
        buf_str(b, p->name);
        break;
    case PATH_INDEX:
        buf_ch(b, '[');
        buf_u64(b, p->index);
        buf_ch(b, ']');
        break;
    case PATH_KEY:
        buf_ch(b, '[');
        buf_str(b, p->name);
        buf_ch(b, ']');
        break;
    }
}

struct str path_text(const struct path *p, struct arena *a) {
    struct buf b;
    buf_init(&b, 0);
    path_write(p, &b);
    struct str r = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return r;
}

static inline bool named(const struct field *f, struct str name) {
    size_t n = f->json_n ? f->json_n : strlen(f->json);
    return n == name.n && n > 0 && f->json[0] == name.p[0] && memcmp(f->json, name.p, n) == 0;
}

const struct field *schema_find(const struct schema *s, struct str name, size_t *hint) {
    for (size_t i = *hint; i < s->n; i++) {
        if (named(&s->fields[i], name)) {
            *hint = i + 1;
            return &s->fields[i];
        }
    }
    size_t end = *hint < s->n ? *hint : s->n;
    for (size_t i = 0; i < end; i++) {
        if (named(&s->fields[i], name)) {
            *hint = i + 1;
            return &s->fields[i];
        }
    }
    return NULL;
}

bool schema_embeds_proto(const struct schema *s, uint32_t in) {
    for (size_t i = 0; i < s->n; i++) {
        uint32_t at = s->fields[i].proto_in;
        if (at == in || (at >> 4 != 0 && at >> 4 == in)) {
            return true;
        }
    }
    return false;
}

const struct field *schema_find_proto(const struct schema *s, uint32_t tag, uint32_t in) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].proto == tag && s->fields[i].proto_in == in) {
            return &s->fields[i];
        }
    }
    return NULL;
}

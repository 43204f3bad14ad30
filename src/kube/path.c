/* path (kube): see path.h. */
#include "kube/path.h"

void kube_encode(struct buf *out, struct str s) {
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            buf_ch(out, (char)c);
        } else {
            buf_ch(out, '%');
            buf_ch(out, hex[c >> 4]);
            buf_ch(out, hex[c & 15]);
        }
    }
}

static void add_segment(struct buf *out, struct str s) {
    if (s.n) {
        buf_ch(out, '/');
        kube_encode(out, s);
    }
}

void kube_path(struct buf *out, struct str api_version, struct str plural, struct str ns,
               struct str name, struct str subresource) {
    buf_c(out, str_find(api_version, '/') >= 0 ? "/apis/" : "/api/");
    buf_str(out, api_version);
    if (ns.n) {
        buf_c(out, "/namespaces");
        add_segment(out, ns);
    }
    add_segment(out, plural);
    add_segment(out, name);
    add_segment(out, subresource);
}

void kube_kind_path(struct buf *out, const struct kind *k, struct str ns, struct str name,
                    struct str subresource) {
    char text[128];
    const char *version = k->versions[k->storage].version;
    snprintf(text, sizeof(text), "%s%s%s", k->group, k->group[0] ? "/" : "", version);
    kube_path(out, str_of(text), str_of(k->plural), ns, name, subresource);
}

void kube_query(struct buf *out, const char *key, struct str value) {
    buf_ch(out, str_find(buf_view(out), '?') >= 0 ? '&' : '?');
    buf_c(out, key);
    buf_ch(out, '=');
    kube_encode(out, value);
}

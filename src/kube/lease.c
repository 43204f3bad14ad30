/* lease: a Lease's record. See lease.h. */
#include "kube/lease.h"

#include "wire/json/json.h"

enum { TREE_MAX = 8 << 20 };

int lease_read(struct arena *a, struct str body, struct lease_record *ret, struct err *err) {
    yyjson_doc *doc = NULL;
    int r = json_parse(a, body, &doc, err);
    if (r != 0) {
        return r;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!str_is(json_str_at(root, "kind"), "Lease") ||
        str_empty(json_str_at(root, "metadata.resourceVersion"))) {
        return err_set(err, ERR_INVALID, "expected a Lease");
    }
    struct lease_record got = {
        .holder = arena_str(a, json_str_at(root, "spec.holderIdentity")),
        .duration_s = json_i64_at(root, "spec.leaseDurationSeconds", 0),
        .transitions = json_i64_at(root, "spec.leaseTransitions", 0),
        .acquired = arena_str(a, json_str_at(root, "spec.acquireTime")),
        .renewed = arena_str(a, json_str_at(root, "spec.renewTime")),
        .rv = arena_str(a, json_str_at(root, "metadata.resourceVersion")),
        .uid = arena_str(a, json_str_at(root, "metadata.uid")),
    };
    if (arena_ok(a) != 0) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *ret = got;
    return 0;
}

bool lease_same(const struct lease_record *a, const struct lease_record *b) {
    return str_eq(a->holder, b->holder) && a->duration_s == b->duration_s &&
           a->transitions == b->transitions && str_eq(a->acquired, b->acquired) &&
           str_eq(a->renewed, b->renewed);
}

static int fill(yyjson_mut_doc *d, yyjson_mut_val *root, struct str ns, struct str name,
                const struct lease_record *r) {
    yyjson_mut_val *meta = json_mensure(d, root, "metadata");
    yyjson_mut_val *spec = json_mensure(d, root, "spec");
    if (meta == NULL || spec == NULL) {
        return ERR_NOMEM;
    }
    int e = json_mset_str(d, root, "apiVersion", STR("coordination.k8s.io/v1"));
    e = e ? e : json_mset_str(d, root, "kind", STR("Lease"));
    e = e ? e : json_mset_str(d, meta, "namespace", ns);
    e = e ? e : json_mset_str(d, meta, "name", name);
    e = e || !r->rv.n ? e : json_mset_str(d, meta, "resourceVersion", r->rv);
    e = e ? e : json_mset_str(d, spec, "holderIdentity", r->holder);
    e = e ? e : json_mset_i64(d, spec, "leaseDurationSeconds", r->duration_s);
    e = e ? e : json_mset_i64(d, spec, "leaseTransitions", r->transitions);
    e = e ? e : json_mset_str(d, spec, "acquireTime", r->acquired);
    return e ? e : json_mset_str(d, spec, "renewTime", r->renewed);
}

int lease_write(struct str body, struct str ns, struct str name, const struct lease_record *r,
                struct buf *out, struct err *err) {
    struct arena a;
    yyjson_mut_doc *d = NULL;
    int e = 0;
    arena_init(&a, TREE_MAX);
    if (body.n) {
        e = json_parse_mut(&a, body, &d, err);
    } else {
        d = json_mut_new(&a);
        yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
        e = root ? 0 : err_set(err, ERR_NOMEM, "no memory");
        if (root) {
            yyjson_mut_doc_set_root(d, root);
        }
    }
    if (e == 0 && fill(d, yyjson_mut_doc_get_root(d), ns, name, r) != 0) {
        e = err_set(err, ERR_NOMEM, "no memory");
    }
    if (e == 0) {
        json_write_mut(out, yyjson_mut_doc_get_root(d));
        e = buf_ok(out) ? err_set(err, buf_ok(out), "the Lease is too large") : 0;
    }
    arena_release(&a);
    return e;
}

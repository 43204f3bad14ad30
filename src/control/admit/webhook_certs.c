/*
 * webhook_certs: see webhook_certs.h. Keys are the Secret, and of each kind the configurations and definitions by name;
 * a change of the Secret makes all of the others be looked at again.
 */
#include "control/admit/webhook_certs.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "api/tables/view_core.h"
#include "api/webhooks.h"
#include "base/mem.h"
#include "control/kit/controller.h"
#include "control/kit/edit.h"
#include "wire/text/base64.h"

/* The kinds of its row, which are the sorts of its keys as well. */
enum { THE_SECRET, FIRST_TOLD, MUTATING = FIRST_TOLD, VALIDATING, DEFINITIONS, KINDS };
enum { BODY_MAX = 4 << 20, LOOK_AGAIN_S = 60 };

static const struct work_key the_secret = {.what = THE_SECRET};

struct webhook_certs {
    struct controller base;
    struct webhook_certs_options o;
    char *bundle; /* base64 of what is told now; NULL: nothing yet */
};

/* ---- the Secret ---- */

static struct str decoded(struct arena *a, yyjson_val *data, const char *key) {
    return base64_decode(a, json_str(json_get(data, str_of(key))));
}

static struct str encoded(struct arena *a, struct str v) {
    struct buf b;
    buf_init(&b, BODY_MAX);
    base64_encode(&b, v);
    struct str text = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

/* The keys of the set in a Secret's data; others stay. ERR_NOMEM. */
static int set_data(struct str_map *data, const struct cert_set *s, struct arena *a) {
    const struct {
        const char *key;
        struct str v;
    } all[] = {
        {"ca.crt", s->bundle}, {"ca.key", s->ca_key}, {"tls.crt", s->cert}, {"tls.key", s->key}};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(*all); i++) {
        struct str text = encoded(a, all[i].v);
        r = text.p != NULL ? meta_set(data, a, all[i].key, text) : ERR_NOMEM;
    }
    return r;
}

static int make_secret(struct webhook_certs *w, const struct cert_set *s, struct buf *out) {
    struct str_pair label = {STR("app.kubernetes.io/name"), STR("berth")};
    struct meta meta = {.name = w->o.secret, .namespace = w->o.ns, .labels = {&label, 1}};
    struct secret secret = {.metadata = &meta};
    int r = set_data(&secret.data, s, &w->base.arena);
    if (r == 0) {
        codec_encode_object(w->base.kinds[THE_SECRET], &secret, out);
    }
    return r != 0 ? r : buf_ok(out);
}

static int change_secret(struct webhook_certs *w, const struct object *o, const struct cert_set *s,
                         struct buf *out) {
    struct secret was, want;
    yyjson_doc *d;
    int r = object_tree(o, &w->base.arena, &d, NULL);
    if (r == 0) {
        r = codec_decode(&schema_secret, yyjson_doc_get_root(d), &w->base.arena, &was, NULL);
    }
    if (r != 0) {
        return r;
    }
    want = was;
    r = set_data(&want.data, s, &w->base.arena);
    if (r != 0) {
        return r;
    }
    return edit_write(o, EDIT_VERSION | EDIT_UID, &was, &want, out);
}

/* o NULL: there is none. */
static enum work store(struct webhook_certs *w, const struct object *o, const struct cert_set *s) {
    struct round *r = controller_begin(&w->base);
    if (r == NULL) {
        return WORK_RETRY;
    }
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = o == NULL ? make_secret(w, s, &b) : change_secret(w, o, s, &b);
    if (code == 0 && o == NULL) {
        round_create(r, w->base.kinds[THE_SECRET], w->o.ns, buf_view(&b));
    } else if (code == 0) {
        round_patch(r, w->base.kinds[THE_SECRET], w->o.ns, w->o.secret, "", PATCH_MERGE,
                    buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(&b);
    return round_end(r);
}

static void tell(struct webhook_certs *w, unsigned sort, const struct object *o) {
    workqueue_look(w->base.queue, (struct work_key){.what = sort, .name = o->name}, 0);
}

static bool tell_each(void *ctx, const struct object *o) {
    struct webhook_certs *w = ctx;
    for (unsigned i = FIRST_TOLD; i < KINDS; i++) {
        if (w->base.kinds[i] == o->kind) {
            tell(w, i, o);
        }
    }
    return true;
}

static void tell_all(struct webhook_certs *w) {
    for (size_t i = FIRST_TOLD; i < KINDS; i++) {
        mirror_scan(w->base.env.mirror, w->base.kinds[i], STR(""), tell_each, w);
    }
}

/* From now on this bundle is told. ERR_NOMEM. */
static int take_bundle(struct webhook_certs *w, struct str pem) {
    struct buf b;
    buf_init(&b, 0);
    base64_encode(&b, pem);
    char *text = buf_ok(&b) == 0 ? mem_cstr(buf_view(&b)) : NULL;
    buf_release(&b);
    if (text == NULL) {
        return ERR_NOMEM;
    }
    bool same = w->bundle != NULL && strcmp(w->bundle, text) == 0;
    mem_free(w->bundle);
    w->bundle = text;
    if (!same) {
        tell_all(w);
    }
    return 0;
}

static enum work look_at_secret(struct webhook_certs *w) {
    struct arena *a = &w->base.arena;
    const struct object *o =
        mirror_get(w->base.env.mirror, w->base.kinds[THE_SECRET], w->o.ns, w->o.secret);
    struct cert_set have = {0}, want;
    struct err err = {0};
    bool changed = false;
    int64_t next = LOOK_AGAIN_S * NS_PER_SEC;
    yyjson_doc *doc;
    if (o != NULL) {
        if (o->deleting_ns != 0 || object_tree(o, a, &doc, &err) != 0) {
            return WORK_RETRY;
        }
        yyjson_val *data = json_get(yyjson_doc_get_root(doc), STR("data"));
        have = (struct cert_set){decoded(a, data, "ca.crt"), decoded(a, data, "ca.key"),
                                 decoded(a, data, "tls.crt"), decoded(a, data, "tls.key")};
    }
    struct cert_keeper *k = w->o.keeper;
    int r = k->renew(k, &have, clock_wall(w->base.env.clock), a, &want, &changed, &next, &err);
    if (r != 0) {
        log_error(w->base.env.log, "the webhooks' certificate cannot be made: %s", err.text);
        return WORK_RETRY;
    }
    if (changed) {
        log_info(w->base.env.log, "the webhooks' certificate is %s", o ? "renewed" : "made");
        return store(w, o, &want);
    }
    workqueue_look(w->base.queue, the_secret, next);
    return take_bundle(w, have.bundle) == 0 ? WORK_OK : WORK_RETRY;
}

/* ---- who is told ---- */

static bool is_ours(const struct webhook_certs *w, yyjson_mut_val *client, bool all) {
    return all || (str_eq(json_mstr_at(client, "service.name"), w->o.service) &&
                   str_eq(json_mstr_at(client, "service.namespace"), w->o.ns));
}

/* Puts the bundle where it is not. */
static int put_bundle(const struct webhook_certs *w, yyjson_mut_doc *d, yyjson_mut_val *client,
                      bool all) {
    bool outdated = client != NULL && is_ours(w, client, all) &&
                    !str_is(json_mstr(json_mget(client, STR("caBundle"))), w->bundle);
    return outdated ? json_mset_str(d, client, "caBundle", str_of(w->bundle)) : 0;
}

static int put_bundles(const struct webhook_certs *w, yyjson_mut_doc *d, bool all) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *hook;
    int r = put_bundle(w, d, json_mpath(root, "spec.conversion.webhook.clientConfig"), all);
    size_t i, n;
    yyjson_mut_arr_foreach(json_mget(root, STR("webhooks")), i, n, hook) {
        r = r != 0 ? r : put_bundle(w, d, json_mget(hook, STR("clientConfig")), all);
    }
    return r;
}

/* The patch that puts the bundle into a configuration or definition; ERR_NOT_FOUND: it is there. A list of webhooks is
 * written whole, so the patch is conditional on the version that was read. */
static int bundle_patch(struct webhook_certs *w, const struct object *o, struct buf *out) {
    yyjson_doc *was;
    int r = object_tree(o, &w->base.arena, &was, NULL);
    yyjson_mut_doc *d = r == 0 ? json_mut_copy(&w->base.arena, yyjson_doc_get_root(was)) : NULL;
    if (d == NULL) {
        return r != 0 ? r : ERR_NOMEM;
    }
    yyjson_val *notes = json_path(yyjson_doc_get_root(was), "metadata.annotations");
    bool all = str_is(json_str(json_get(notes, STR(WEBHOOK_INJECT_ANNOTATION))), "true");
    r = put_bundles(w, d, all);
    return r != 0 ? r
                  : edit_write_tree(o, EDIT_VERSION, yyjson_doc_get_root(was),
                                    yyjson_mut_doc_get_root(d), out);
}

static enum work look_at(struct webhook_certs *w, struct work_key key) {
    const struct object *o =
        mirror_get(w->base.env.mirror, w->base.kinds[key.what], STR(""), key.name);
    if (o == NULL || o->deleting_ns != 0 || w->bundle == NULL) {
        return WORK_OK;
    }
    struct buf b;
    buf_init(&b, BODY_MAX);
    int code = bundle_patch(w, o, &b);
    return controller_patch(&w->base, o, "", code, &b);
}

static enum work step(void *self, struct work_key key) {
    return key.what == THE_SECRET ? look_at_secret(self) : look_at(self, key);
}

/* ---- its life ---- */

static void secret_changed(void *self, const struct change *c) {
    struct webhook_certs *w = self;
    if (w->o.bundle.n == 0 && str_eq(c->obj->ns, w->o.ns) && str_eq(c->obj->name, w->o.secret)) {
        workqueue_look(w->base.queue, the_secret, 0);
    }
}

static void told_changed(void *self, const struct change *c) {
    if (c->type != CHANGE_DELETED) {
        (void)tell_each(self, c->obj);
    }
}

/* Without a Secret nothing changed, but one is to be made. */
static void start(void *self) {
    struct webhook_certs *w = self;
    if (w->o.bundle.n == 0) {
        workqueue_look(w->base.queue, the_secret, 0);
    }
}

static int init(void *self, struct err *err) {
    struct webhook_certs *w = self;
    w->o = *(const struct webhook_certs_options *)w->base.args;
    w->o.service = w->o.service.n > 0 ? w->o.service : STR(WEBHOOK_SERVICE);
    w->o.secret = w->o.secret.n > 0 ? w->o.secret : STR(WEBHOOK_SECRET);
    return w->o.bundle.n > 0 ? take_bundle(w, w->o.bundle) : 0;
}

static void release(void *self) {
    struct webhook_certs *w = self;
    mem_free(w->bundle);
}

#define HOOKS "admissionregistration.k8s.io"

const struct controller_row webhook_certs_controller = {
    .name = "webhook-certs",
    .who = "berth-webhook-certs",
    CONTROLLER_KINDS(
        {"", "Secret", secret_changed, .may = MAY_CREATE | MAY_PATCH},
        {HOOKS, "MutatingWebhookConfiguration", told_changed, .first = true, .may = MAY_PATCH},
        {HOOKS, "ValidatingWebhookConfiguration", told_changed, .first = true, .may = MAY_PATCH},
        {"apiextensions.k8s.io", "CustomResourceDefinition", told_changed, .first = true,
         .may = MAY_PATCH}),
    .step = step,
    .start = start,
    .size = sizeof(struct webhook_certs),
    .init = init,
    .release = release,
};

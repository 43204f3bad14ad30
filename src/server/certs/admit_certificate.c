/*
 * admit_certificate: CertificateSigningRequests. The requester is recorded in a new one. Conditions Approved and Denied
 * are written only through the subresource approval, which requires the right to `approve` for the signer; a
 * certificate is written through status, which requires the right to `sign` for it. Berth's own authority signs a
 * request for kubernetes.io/kube-apiserver-client in the write that approves it, so that an approved request is never
 * seen without its certificate.
 */
#include "net/keys/csr.h"
#include "server/write/admit.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

enum { SECONDS_DEFAULT = 365 * 86400, SECONDS_MIN = 600, SUBJECT_MAX = 4096 };

#define CLIENT_SIGNER "kubernetes.io/kube-apiserver-client"

static yyjson_mut_val *root_of(struct write *w) {
    return yyjson_mut_doc_get_root(w->doc);
}

static int no_memory(struct write *w) {
    return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
}

static int forbidden(struct write *w, const char *why) {
    return failure_forbidden(&w->failure, w->arena, w->req->kind,
                             json_mstr_at(root_of(w), "metadata.name"), "%s", why);
}

/* ---- who asks ---- */

static yyjson_mut_val *texts(yyjson_mut_doc *d, const struct str_list *l) {
    yyjson_mut_val *list = yyjson_mut_arr(d);
    for (size_t i = 0; list && i < l->n; i++) {
        list = yyjson_mut_arr_add_strncpy(d, list, l->v[i].n ? l->v[i].p : "", l->v[i].n) ? list
                                                                                          : NULL;
    }
    return list;
}

static int set_asker(struct write *w) {
    const struct user *u = &w->req->user;
    yyjson_mut_doc *d = w->doc;
    yyjson_mut_val *spec = json_mensure(d, root_of(w), "spec"), *extra = NULL;
    yyjson_mut_val *groups = spec ? texts(d, &u->groups) : NULL;
    if (groups == NULL) {
        return no_memory(w);
    }
    json_mdel(spec, STR("uid"));
    json_mdel(spec, STR("extra"));
    int r = json_mset_str(d, spec, "username", u->name);
    r = r ? r : json_mset(d, spec, STR("groups"), groups);
    r = r || u->uid.n == 0 ? r : json_mset_str(d, spec, "uid", u->uid);
    for (size_t i = 0; r == 0 && i < u->n_extra; i++) {
        yyjson_mut_val *values = texts(d, &u->extra[i].values);
        extra = extra ? extra : json_mensure(d, spec, "extra");
        r = values && extra ? json_mset(d, extra, u->extra[i].key, values) : ERR_NOMEM;
    }
    return r ? no_memory(w) : 0;
}

static bool lists(struct str lines, const char *one) {
    for (struct str line; str_next(&lines, '\n', &line);) {
        if (str_is(line, one)) {
            return true;
        }
    }
    return false;
}

/* The request itself, by its signer's rules. */
static int check_request(struct write *w) {
    struct str pem = base64_decode(w->arena, json_mstr_at(root_of(w), "spec.request"));
    bool client = str_is(json_mstr_at(root_of(w), "spec.signerName"), CLIENT_SIGNER), names;
    struct err err = {0};
    struct buf cn, orgs;
    buf_init(&cn, SUBJECT_MAX);
    buf_init(&orgs, SUBJECT_MAX);
    int r = csr_read(pem, &cn, &orgs, &names, &err);
    if (r != 0) {
        r = failure_invalid_one(&w->failure, w->arena, w->req->kind->group, w->req->kind->kind,
                                json_mstr_at(root_of(w), "metadata.name"), CAUSE_INVALID,
                                "spec.request", "Invalid value: %s", err.text);
    } else if (client && lists(buf_view(&orgs), "system:masters")) {
        r = forbidden(w,
                      "use of " CLIENT_SIGNER " signer with system:masters group is not allowed");
    } else if (client && (names || cn.n == 0)) {
        r = failure_invalid_one(&w->failure, w->arena, w->req->kind->group, w->req->kind->kind,
                                json_mstr_at(root_of(w), "metadata.name"), CAUSE_INVALID,
                                "spec.request",
                                "Invalid value: for " CLIENT_SIGNER
                                " a common name is needed, and names of hosts are not allowed");
    }
    buf_release(&cn);
    buf_release(&orgs);
    return r;
}

/* ---- rights ---- */

/* The verb on the signer by its name, or on all of its domain. */
static int may_signer(struct write *w, const char *verb) {
    struct str signer = json_mstr_at(root_of(w), "spec.signerName"), domain, path, why;
    struct failure f = {0};
    struct api_request q = {.user = w->req->user,
                            .resource = true,
                            .verb = VERB_OTHER,
                            .verb_name = str_of(verb),
                            .group = STR("certificates.k8s.io"),
                            .version = STR("v1"),
                            .plural = STR("signers"),
                            .name = signer,
                            .authz_name = signer};
    if (w->behalf != WRITE_FOR_USER || guard_allow(w->s->o.guard, &q, w->arena, &why, &f) == 0) {
        return 0;
    }
    (void)str_cut(signer, '/', &domain, &path);
    q.name = q.authz_name = arena_f(w->arena, "%.*s/*", STR_ARG(domain));
    return guard_allow(w->s->o.guard, &q, w->arena, &why, &f) == 0
               ? 0
               : forbidden(w, verb[0] == 'a'
                                  ? "user not permitted to approve requests for this signer"
                                  : "user not permitted to sign for this signer");
}

/* ---- signing ---- */

static bool has(yyjson_mut_val *root, const char *type) {
    return json_mfind(json_mpath(root, "status.conditions"), "type", str_of(type)) != NULL;
}

static bool had(yyjson_val *old, const char *type) {
    yyjson_val *v;
    size_t i, max;
    yyjson_arr_foreach(json_path(old, "status.conditions"), i, max, v) {
        if (str_is(json_str_at(v, "type"), type)) {
            return true;
        }
    }
    return false;
}

static int add_failed(struct write *w, const char *why) {
    char when[TIME_TEXT_MAX];
    yyjson_mut_doc *d = w->doc;
    yyjson_mut_val *c = yyjson_mut_obj(d);
    bool ok = c && json_mset_str(d, c, "type", STR("Failed")) == 0 &&
              json_mset_str(d, c, "status", STR("True")) == 0 &&
              json_mset_str(d, c, "reason", STR("SignerValidationFailure")) == 0 &&
              json_mset_str(d, c, "message", str_of(why)) == 0 &&
              json_mset_str(d, c, "lastUpdateTime", time_text(w->now, when)) == 0 &&
              json_mset_str(d, c, "lastTransitionTime", time_text(w->now, when)) == 0 &&
              yyjson_mut_arr_append(json_mpath(root_of(w), "status.conditions"), c);
    return ok ? 0 : no_memory(w);
}

/* What the signer of clients takes: client auth, and beside it only what its signature is for. */
static const char *wrong_usages(yyjson_mut_val *root) {
    bool client = false;
    yyjson_mut_val *v;
    size_t i, max;
    yyjson_mut_arr_foreach(json_mpath(root, "spec.usages"), i, max, v) {
        struct str s = json_mstr(v);
        client = client || str_is(s, "client auth");
        if (!str_is(s, "client auth") && !str_is(s, "digital signature") &&
            !str_is(s, "key encipherment")) {
            return "usages: expected client auth, digital signature and key encipherment alone";
        }
    }
    return client ? NULL : "usages: client auth is required";
}

static int sign(struct write *w) {
    yyjson_mut_val *root = root_of(w), *n = json_mpath(root, "spec.expirationSeconds");
    struct str pem = base64_decode(w->arena, json_mstr_at(root, "spec.request"));
    int64_t seconds = yyjson_mut_is_int(n) ? yyjson_mut_get_sint(n) : SECONDS_DEFAULT;
    const char *wrong = wrong_usages(root);
    struct buf cert, text;
    struct err err = {0};
    if (wrong != NULL) {
        return add_failed(w, wrong);
    }
    buf_init(&cert, 0);
    buf_init(&text, 0);
    seconds = seconds < SECONDS_DEFAULT ? seconds : SECONDS_DEFAULT;
    int r = csr_sign(pem, w->s->o.pki, seconds, &cert, &err);
    base64_encode(&text, buf_view(&cert));
    if (r != 0) {
        r = add_failed(w, err.text);
    } else if (buf_ok(&text) != 0 || json_mset_str(w->doc, json_mget(root, STR("status")),
                                                   "certificate", buf_view(&text)) != 0) {
        r = no_memory(w);
    }
    buf_release(&cert);
    buf_release(&text);
    return r;
}

/* Nothing is signed in a dry run: a certificate that lies nowhere is one that nobody knows of. */
static int approval(struct write *w) {
    yyjson_mut_val *root = root_of(w);
    int r = may_signer(w, "approve");
    bool ours = w->s->o.pki && !w->req->opt.dry_run &&
                str_is(json_mstr_at(root, "spec.signerName"), CLIENT_SIGNER);
    return r == 0 && ours && has(root, "Approved") && !had(w->old_tree, "Approved") ? sign(w) : r;
}

static int status(struct write *w) {
    yyjson_mut_val *root = root_of(w);
    if (has(root, "Approved") != had(w->old_tree, "Approved") ||
        has(root, "Denied") != had(w->old_tree, "Denied")) {
        return failure_invalid_one(&w->failure, w->arena, w->req->kind->group, w->req->kind->kind,
                                   w->req->name, CAUSE_FORBIDDEN, "status.conditions",
                                   "Forbidden: Approved and Denied are written by approval alone");
    }
    bool same = str_eq(json_mstr_at(root, "status.certificate"),
                       json_str_at(w->old_tree, "status.certificate"));
    return same && has(root, "Failed") == had(w->old_tree, "Failed") ? 0 : may_signer(w, "sign");
}

int admit_certificate(struct write *w) {
    if (!str_is(str_of(w->req->kind->plural), "certificatesigningrequests") ||
        w->req->kind->group[0] == '\0') {
        return 0;
    }
    if (w->old == NULL) {
        int r = check_request(w);
        return r ? r : set_asker(w);
    }
    return str_is(w->req->subresource, "approval") ? approval(w)
           : str_is(w->req->subresource, "status") ? status(w)
                                                   : 0;
}

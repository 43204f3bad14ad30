/*
 * kinds_certificate: CertificateSigningRequest: its fields, its row, and what Kubernetes checks of it. Who asks is
 * written by admission (server/write/admit_certificate.c), which also signs.
 */
#include "api/kinds/kinds.h"
#include "api/tables/rows.h"

enum { SECONDS_MIN = 600 };

static const char *const usages[] = {"any",
                                     "cert sign",
                                     "client auth",
                                     "code signing",
                                     "content commitment",
                                     "crl sign",
                                     "data encipherment",
                                     "decipher only",
                                     "digital signature",
                                     "email protection",
                                     "encipher only",
                                     "ipsec end system",
                                     "ipsec tunnel",
                                     "ipsec user",
                                     "key agreement",
                                     "key encipherment",
                                     "microsoft sgc",
                                     "netscape sgc",
                                     "ocsp signing",
                                     "s/mime",
                                     "server auth",
                                     "signing",
                                     "timestamping",
                                     NULL};

#define FIXED FIELD_F_IMMUTABLE

TABLE(static, csr_spec, "io.k8s.api.certificates.v1.CertificateSigningRequestSpec", NULL,
      F(BYTES, ONE, "request", 1, .flags = REQUIRED | FIXED,
        .doc = "The certificate request, PEM."),
      F(STRING, ONE, "username", 2, .flags = FIXED, .doc = "Who asks; set by the server."),
      F(STRING, ONE, "uid", 3, .flags = FIXED, .doc = "The uid of who asks; set by the server."),
      F(STRING, LIST, "groups", 4, .flags = FIELD_F_ATOMIC | FIXED,
        .doc = "The groups of who asks; set by the server."),
      F(STRING, LIST, "usages", 5, .flags = FIELD_F_ATOMIC | REQUIRED | FIXED, .values = usages,
        .doc = "What the key may be used for."),
      F(ANY, MAP, "extra", 6, .flags = FIXED, .doc = "More of who asks; set by the server."),
      F(STRING, ONE, "signerName", 7, .flags = REQUIRED | FIXED,
        .doc = "Who is to sign: kubernetes.io/kube-apiserver-client, or another\'s name."),
      F(INT32, ONE, "expirationSeconds", 8, .flags = FIELD_F_OPT | FIXED,
        .doc = "How long the certificate is wanted for; 600 at least."));
TABLE(static, csr_condition, "io.k8s.api.certificates.v1.CertificateSigningRequestCondition", NULL,
      F(STRING, ONE, "type", 1, .flags = REQUIRED, .doc = "Approved, Denied or Failed."),
      F(STRING, ONE, "reason", 2, .doc = "Reason in one word."),
      F(STRING, ONE, "message", 3, .doc = "The same for people."),
      F(TIME, ONE, "lastUpdateTime", 4, .doc = "When it was written last."),
      F(TIME, ONE, "lastTransitionTime", 5, .doc = "When its status changed last."),
      F(STRING, ONE, "status", 6, .flags = REQUIRED, .doc = "True; Failed may be others."));
TABLE(, csr_status, "io.k8s.api.certificates.v1.CertificateSigningRequestStatus", NULL,
      F(OBJECT, LIST, "conditions", 1, .of = &schema_csr_condition, .flags = FIELD_F_MERGE,
        .merge_key = "type", .list_keys = "type", .doc = "Approved, Denied, Failed."),
      F(BYTES, ONE, "certificate", 2, .doc = "The certificate, PEM, once it is signed."));
TABLE(, csr, "io.k8s.api.certificates.v1.CertificateSigningRequest",
      "Asks for a certificate, which an approver approves and a signer signs.",
      F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
      F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
      F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
      F(OBJECT, ONE, "spec", 2, .of = &schema_csr_spec, .flags = REQUIRED,
        .doc = "Desired state, set by the user."),
      F(OBJECT, ONE, "status", 3, .of = &schema_csr_status,
        .doc = "Observed state, set by controllers."));

static bool has_condition(yyjson_mut_val *obj, const char *type) {
    return json_mfind(json_mpath(obj, "status.conditions"), "type", str_of(type)) != NULL;
}

static bool had_condition(yyjson_val *old, const char *type) {
    yyjson_val *v;
    size_t i, max;
    yyjson_arr_foreach(json_path(old, "status.conditions"), i, max, v) {
        if (str_is(json_str_at(v, "type"), type)) {
            return true;
        }
    }
    return false;
}

static void check_conditions(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    static const char *const lasting[] = {"Approved", "Denied", "Failed"};
    struct path status = path_member(NULL, "status"), at = path_member(&status, "conditions");
    for (size_t i = 0; i < COUNT(lasting); i++) {
        if (had_condition(old, lasting[i]) && !has_condition(obj, lasting[i])) {
            cause_forbidden(c, &at, "updates may not remove a condition of type \"%s\"",
                            lasting[i]);
        }
    }
    if (has_condition(obj, "Approved") && has_condition(obj, "Denied")) {
        cause_invalid(c, &at, STR("Denied"),
                      "Approved and Denied conditions are mutually exclusive");
    }
}

static void csr_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path spec = path_member(NULL, "spec"), signer = path_member(&spec, "signerName");
    struct path seconds = path_member(&spec, "expirationSeconds");
    struct str name = json_mstr_at(obj, "spec.signerName"), domain, path;
    yyjson_mut_val *n = json_mpath(obj, "spec.expirationSeconds");
    if (name.n && (!str_cut(name, '/', &domain, &path) || domain.n == 0 || path.n == 0)) {
        cause_invalid(c, &signer, name,
                      "must be a fully qualified domain and path of the form "
                      "\'example.com/signer-name\'");
    }
    if (yyjson_mut_is_int(n) && yyjson_mut_get_sint(n) < SECONDS_MIN) {
        cause_invalid_json(c, &seconds, n,
                           "may not specify a duration less than 600 seconds (10 "
                           "minutes)");
    }
    check_conditions(obj, old, c);
}

static void csr_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 5) {
        const char *state = had_condition(obj, "Denied")     ? "Denied"
                            : had_condition(obj, "Approved") ? "Approved"
                                                             : "Pending";
        cell_f(out, "%s%s%s", state, had_condition(obj, "Failed") ? ",Failed" : "",
               json_str_at(obj, "status.certificate").n ? ",Issued" : "");
    } else if (i == 4 && json_path(obj, "spec.expirationSeconds")) {
        cell_f(out, "%llds", (long long)json_i64_at(obj, "spec.expirationSeconds", 0));
    } else if (i == 4) {
        buf_json(out, STR("<none>"));
    } else {
        buf_json(out, json_str_at(obj, i == 2 ? "spec.signerName" : "spec.username"));
    }
}

static const struct column csr_columns[] = {
    COLUMN_NAME,
    COLUMN_AGE,
    COLUMN("SignerName", "string", 0, "Who is to sign."),
    COLUMN("Requestor", "string", 0, "Who asks."),
    COLUMN("RequestedDuration", "string", 0, "How long it is wanted for."),
    COLUMN("Condition", "string", 0, "What became of it."),
};
const struct kind kind_csr = {
    .group = "certificates.k8s.io",
    .api_version = "certificates.k8s.io/v1",
    .kind = "CertificateSigningRequest",
    .plural = "certificatesigningrequests",
    .singular = "certificatesigningrequest",
    .short_names = (const char *const[]){"csr", NULL},
    .flags = KIND_STATUS | KIND_STATUS_NOTES,
    .subresources = (const char *const[]){"approval", NULL},
    .selectable = (const char *const[]){"spec.signerName", NULL},
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_csr},
    .n_versions = 1,
    .columns = csr_columns,
    .n_columns = COUNT(csr_columns),
    .prepare = prepare_status,
    .check = csr_check,
    .cell = csr_cell,
};

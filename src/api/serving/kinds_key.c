/* kinds_key: the row of ModelKey, the keys of the gateway, and the rules that its table cannot say. */
#include "api/kinds/kinds.h"
#include "api/serving/view_key.h"

static bool is_hex(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) {
            return false;
        }
    }
    return true;
}

/* Printable, and no blank: it is shown in tables and logs. */
static bool is_plain(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~') {
            return false;
        }
    }
    return true;
}

static void check_model(struct str pattern, const struct path *at, struct causes *c) {
    ptrdiff_t star = str_find(pattern, '*');
    if (pattern.n == 0 || pattern.n > 512) {
        cause_invalid(c, at, pattern, "must be the name of a model, of 1 to 512 characters");
    } else if (star >= 0 && (size_t)star + 1 != pattern.n) {
        cause_invalid(c, at, pattern, "'*' may only be the last character");
    }
}

static void key_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), sha256_at = path_member(&at, "sha256");
    struct path prefix_at = path_member(&at, "prefix"), models_at = path_member(&at, "models");
    struct path revoked_at = path_member(&at, "revoked");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct str sha256 = json_mstr_at(spec, "sha256"), prefix = json_mstr_at(spec, "prefix");
    if (sha256.n > 0 && (sha256.n != MODEL_KEY_SHA256 || !is_hex(sha256))) {
        cause_invalid(c, &sha256_at, sha256, "must be 64 lower-case hexadecimal digits");
    }
    if (!is_plain(prefix)) {
        cause_invalid(c, &prefix_at, prefix, "must be visible ASCII characters");
    }
    EACH(json_mget(spec, STR("models")), i, pattern) {
        struct path here = path_index(&models_at, i);
        check_model(json_mstr(pattern), &here, c);
    }
    if (json_bool_at(old, "spec.revoked", false) &&
        !yyjson_mut_is_true(json_mget(spec, STR("revoked")))) {
        cause_forbidden(c, &revoked_at, "a revoked key stays revoked; make a new one");
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("Prefix", "string", 0, "spec.prefix", "First characters of the secret."),
    COLUMN_PATH("User", "string", 0, "spec.user", "Who made the key."),
    COLUMN_PATH("Expires", "string", 0, "spec.expiresAt", "From when the key is refused."),
    COLUMN_PATH("Revoked", "boolean", 0, "spec.revoked", "Whether the key is refused."),
    COLUMN_PATH("Last Used", "string", 0, "status.lastUsed", "When the key was last used."),
    COLUMN_PATH("Purpose", "string", 1, "spec.purpose", "What the key is for."),
    {.name = "Age",
     .type = "date",
     .path = "metadata.creationTimestamp",
     .doc = "How long ago the key was made."},
};
const struct kind kind_model_key = {
    .group = "berth.dev",
    .kind = "ModelKey",
    .plural = "modelkeys",
    .singular = "modelkey",
    .short_names = (const char *const[]){"mkey", NULL},
    .flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED | KIND_NAMESPACED | KIND_STATUS,
    .versions = &(const struct kind_version){.version = "v1alpha1", .schema = &schema_model_key},
    .n_versions = 1,
    .columns = columns,
    .n_columns = COUNT(columns),
    .prepare = prepare_status,
    .check = key_check,
};

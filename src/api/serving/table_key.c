/* table_key: the fields of ModelKey (berth.dev). The secret itself is in none of them. */
#include "api/serving/view_key.h"
#include "api/tables/table.h"

static const struct field limits_fields[] = {
    M(model_key_limits, requests_per_minute, INT64, ONE, "requestsPerMinute", 0, .min = 0,
      .max = MODEL_KEY_LIMIT_MAX, .doc = "Requests a minute; 0: no limit."),
    M(model_key_limits, tokens_per_minute, INT64, ONE, "tokensPerMinute", 0, .min = 0,
      .max = MODEL_KEY_LIMIT_MAX,
      .doc = "Tokens a minute, of prompts and answers together; 0: no limit."),
    M(model_key_limits, streams, INT64, ONE, "streams", 0, .min = 0, .max = MODEL_KEY_LIMIT_MAX,
      .doc = "Requests under way at the same time; 0: no limit."),
};
static const struct schema schema_limits =
    SCHEMA("dev.berth.v1alpha1.ModelKeyLimits", limits_fields, sizeof(struct model_key_limits),
           "Limits of a key; those of its project and of the model apply as well.");

static const struct field spec_fields[] = {
    M(model_key_spec, sha256, STRING, ONE, "sha256", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE, .max = MODEL_KEY_SHA256,
      .doc = "SHA-256 of the secret, in lower-case hexadecimal digits. The secret is not stored."),
    M(model_key_spec, prefix, STRING, ONE, "prefix", 0, .flags = FIELD_F_IMMUTABLE,
      .max = MODEL_KEY_PREFIX_MAX,
      .doc = "First characters of the secret, by which people recognise it."),
    M(model_key_spec, user, STRING, ONE, "user", 0, .flags = FIELD_F_IMMUTABLE, .max = 1024,
      .doc = "Who made the key; written by the API server."),
    M(model_key_spec, purpose, STRING, ONE, "purpose", 0, .max = 1024,
      .doc = "What the key is for."),
    M(model_key_spec, models, STRING, LIST, "models", 0, .flags = FIELD_F_ATOMIC,
      .max = MODEL_KEY_MODELS_MAX,
      .doc =
          "Names of models that the key may use; a '*' at the end stands for any rest. None: all "
          "models of the project."),
    M(model_key_spec, limits, OBJECT, ONE, "limits", 0, .of = &schema_limits, .doc = "Limits."),
    M(model_key_spec, priority, INT32, ONE, "priority", 0, .min = -MODEL_KEY_PRIORITY_MAX,
      .max = MODEL_KEY_PRIORITY_MAX,
      .doc =
          "Requests of a higher priority go first when a model is busy, and are refused last. At "
          "most what annotation " MODEL_PROJECT_PRIORITY " of the Namespace says, which is 0 "
          "when it is absent."),
    M(model_key_spec, expires_ns, TIME, ONE, "expiresAt", 0,
      .doc = "From when the key is refused; absent: 90 days after its creation."),
    M(model_key_spec, revoked, BOOL, ONE, "revoked", 0,
      .doc = "The key is refused from now on. Cannot be undone."),
};
static const struct schema schema_spec =
    SCHEMA("dev.berth.v1alpha1.ModelKeySpec", spec_fields, sizeof(struct model_key_spec), NULL);

static const struct field status_fields[] = {
    M(model_key_status, last_used_ns, TIME, ONE, "lastUsed", 0,
      .doc = "When the key was last used, to within a minute."),
};
static const struct schema schema_key_status = SCHEMA(
    "dev.berth.v1alpha1.ModelKeyStatus", status_fields, sizeof(struct model_key_status), NULL);

static const struct field key_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(model_key, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(model_key, spec, OBJECT, ONE, "spec", 0, .of = &schema_spec, .flags = FIELD_F_REQUIRED,
      .doc = "Desired state, set by the user."),
    M(model_key, status, OBJECT, ONE, "status", 0, .of = &schema_key_status,
      .doc = "Observed state, set by the gateway."),
};
const struct schema schema_model_key =
    SCHEMA("dev.berth.v1alpha1.ModelKey", key_fields, sizeof(struct model_key),
           "A key with which programs use the models of a project through the gateway.");

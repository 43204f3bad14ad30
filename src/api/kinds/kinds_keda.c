/*
 * kinds_keda: KEDA's TriggerAuthentication and ClusterTriggerAuthentication: stored and checked as KEDA does, for the
 * triggers that will use them.
 */
#include "api/kinds/kinds.h"
#include "api/tables/rows.h"

#define KEDA(name_, component_, doc_, ...)                                                         \
    TABLE(static, keda_##name_, "sh.keda.v1alpha1." component_, doc_, __VA_ARGS__)

static const char *const providers[] = {"azure-workload", "gcp", "aws", "aws-eks", "none", NULL};
static const char *const owners[] = {"keda", "workload", NULL};
static const char *const vault_ways[] = {"token", "kubernetes", NULL};
static const char *const vault_types[] = {"secretV2", "secret", "pki", NULL};
static const char *const grants[] = {"clientCredentials", NULL};

KEDA(target, "AuthTargetRef", "A key of a Secret or ConfigMap of the namespace.",
     MUST("parameter", "Parameter of the trigger."), MUST("name", "Secret or ConfigMap."),
     MUST("key", "Key that has the value."));
KEDA(env, "AuthEnvironment", "An environment variable of the scaled workload.",
     MUST("parameter", "Parameter of the trigger."), MUST("name", "Environment variable."),
     TEXT("containerName", "Container; the first unless set."));
KEDA(identity, "AuthPodIdentity", "An identity that the platform gives to pods.",
     ENUM("provider", REQUIRED, providers, "Who gives the identity."),
     TEXT("identityId", "Azure client id."), TEXT("identityTenantId", "Azure tenant."),
     TEXT("identityAuthorityHost", "Azure authority; needs identityTenantId."),
     TEXT("roleArn", "AWS role; excludes identityOwner workload."),
     TEXT("externalID", "External id with which the AWS role is assumed."),
     ENUM("identityOwner", 0, owners, "Whose identity is used: keda or workload."));
KEDA(vault_credential, "Credential", "Credentials for HashiCorp Vault.", TEXT("token", "Token."),
     TEXT("serviceAccount", "Path of a service account token."),
     TEXT("serviceAccountName", "Service account of the namespace."));
KEDA(pki, "VaultPkiData", "The certificate to request.", TEXT("commonName", "Common name."),
     TEXT("altNames", "Alternative names."), TEXT("ipSans", "Addresses."), TEXT("uriSans", "URIs."),
     TEXT("otherSans", "Other names."), TEXT("ttl", "Life time."), TEXT("format", "Encoding."));
KEDA(vault_secret, "VaultSecret", "A secret in HashiCorp Vault.",
     MUST("parameter", "Parameter of the trigger."), MUST("path", "Path in Vault."),
     MUST("key", "Key in the secret."), ENUM("type", 0, vault_types, "Secrets engine."),
     ONE_OF("pkiData", keda_pki, 0, "Request, where the type is pki."));
KEDA(vault, "HashiCorpVault", "Secrets in HashiCorp Vault.", MUST("address", "Address of Vault."),
     ENUM("authentication", REQUIRED, vault_ways, "Method of authentication."),
     SOME("secrets", keda_vault_secret, REQUIRED, "Secrets to read."),
     TEXT("namespace", "Namespace in Vault."), TEXT("role", "Role in Vault."),
     TEXT("mount", "Mount of the method of authentication."),
     ONE_OF("credential", keda_vault_credential, 0, "Credentials."));
KEDA(key_ref, "SecretKeyRef", "A key of a Secret.", MUST("name", "Secret."), MUST("key", "Key."));
KEDA(from, "ValueFromSecret", "A Secret's value.",
     ONE_OF("secretKeyRef", keda_key_ref, REQUIRED, "Secret and key."));
KEDA(value, "SecretValue", "A value that a Secret has.",
     ONE_OF("valueFrom", keda_from, REQUIRED, "Source of the value."));
KEDA(azure_secret, "AzureKeyVaultSecret", "A secret in Azure Key Vault.",
     MUST("parameter", "Parameter of the trigger."), MUST("name", "Name of the secret."),
     TEXT("version", "Version; the latest unless set."));
KEDA(azure_credentials, "AzureKeyVaultCredentials", "Credentials for Azure Key Vault.",
     MUST("clientId", "Client."), MUST("tenantId", "Tenant."),
     ONE_OF("clientSecret", keda_value, REQUIRED, "Secret of the client."));
KEDA(azure_cloud, "AzureKeyVaultCloudInfo", "An Azure cloud.", MUST("type", "Name of the cloud."),
     TEXT("keyVaultResourceURL", "Key Vault, where the type is Private."),
     TEXT("activeDirectoryEndpoint", "Active Directory, where the type is Private."));
KEDA(azure, "AzureKeyVault", "Secrets in Azure Key Vault.", MUST("vaultUri", "Address."),
     SOME("secrets", keda_azure_secret, REQUIRED, "Secrets to read."),
     ONE_OF("credentials", keda_azure_credentials, 0, "Credentials."),
     ONE_OF("podIdentity", keda_identity, 0, "Identity instead of credentials."),
     ONE_OF("cloud", keda_azure_cloud, 0, "Cloud; the public one unless set."));
KEDA(gcp_secret, "GCPSecretManagerSecret", "A secret in GCP Secret Manager.",
     MUST("parameter", "Parameter of the trigger."), MUST("id", "Name of the secret."),
     TEXT("version", "Version; the latest unless set."));
KEDA(gcp_credentials, "GCPCredentials", "Credentials for GCP.",
     ONE_OF("clientSecret", keda_value, REQUIRED, "Key of a service account."));
KEDA(gcp, "GCPSecretManager", "Secrets in GCP Secret Manager.",
     SOME("secrets", keda_gcp_secret, REQUIRED, "Secrets to read."),
     ONE_OF("credentials", keda_gcp_credentials, 0, "Credentials."),
     ONE_OF("podIdentity", keda_identity, 0, "Identity instead of credentials."));
KEDA(aws_secret, "AwsSecretManagerSecret", "A secret in AWS Secrets Manager.",
     MUST("parameter", "Parameter of the trigger."), MUST("name", "Name of the secret."),
     TEXT("versionId", "Version."), TEXT("versionStage", "Stage of the version."),
     TEXT("secretKey", "Key in the secret."));
KEDA(aws_credentials, "AwsSecretManagerCredentials", "Credentials for AWS.",
     ONE_OF("accessKey", keda_value, REQUIRED, "Access key."),
     ONE_OF("accessSecretKey", keda_value, REQUIRED, "Secret of the access key."),
     ONE_OF("accessToken", keda_value, 0, "Token of a session."));
KEDA(aws, "AwsSecretManager", "Secrets in AWS Secrets Manager.", TEXT("region", "Region."),
     SOME("secrets", keda_aws_secret, REQUIRED, "Secrets to read."),
     ONE_OF("credentials", keda_aws_credentials, 0, "Credentials."),
     ONE_OF("podIdentity", keda_identity, 0, "Identity instead of credentials."));
KEDA(bound, "BoundServiceAccountToken", "A token that is made for a service account.",
     MUST("parameter", "Parameter of the trigger."), MUST("serviceAccountName", "Account."));
KEDA(oauth2, "OAuth2", "An OAuth 2.0 client.", MUST("clientId", "Client."),
     F(STRING, ONE, "type", 0, .def = "\"clientCredentials\"", .values = grants, .doc = "Grant."),
     MUST("tokenUrl", "Address at which tokens are given."),
     ONE_OF("clientSecret", keda_value, 0, "Secret of the client."),
     F(STRING, LIST, "scopes", 0, .doc = "Scopes to ask for."),
     F(STRING, MAP, "tokenUrlParams", 0, .doc = "More parameters of the request."));
KEDA(spec, "TriggerAuthenticationSpec", "Where the parameters of triggers come from.",
     ONE_OF("podIdentity", keda_identity, 0, "Identity of the platform."),
     SOME("secretTargetRef", keda_target, 0, "Parameters in Secrets."),
     SOME("configMapTargetRef", keda_target, 0, "Parameters in ConfigMaps."),
     SOME("env", keda_env, 0, "Parameters in the environment of the scaled workload."),
     TEXT("filePath", "File with parameters, as a JSON object of strings."),
     ONE_OF("hashiCorpVault", keda_vault, 0, "Parameters in HashiCorp Vault."),
     ONE_OF("azureKeyVault", keda_azure, 0, "Parameters in Azure Key Vault."),
     ONE_OF("gcpSecretManager", keda_gcp, 0, "Parameters in GCP Secret Manager."),
     ONE_OF("awsSecretManager", keda_aws, 0, "Parameters in AWS Secrets Manager."),
     SOME("boundServiceAccountToken", keda_bound, 0, "Tokens of service accounts."),
     ONE_OF("oauth2", keda_oauth2, 0, "Tokens of an OAuth 2.0 server."));
KEDA(status, "TriggerAuthenticationStatus", "Who uses it.", TEXT("scaledobjects", "ScaledObjects."),
     TEXT("scaledjobs", "ScaledJobs."));
#define NOT_YET "Stored and checked, but nothing scales by it yet."
KEDA(authentication, "TriggerAuthentication", "Credentials of triggers. " NOT_YET, ROWS_OF_OBJECT,
     ONE_OF("spec", keda_spec, REQUIRED, "Sources of the parameters."),
     ONE_OF("status", keda_status, 0, "Observed state, set by controllers."));
KEDA(cluster_authentication, "ClusterTriggerAuthentication", "Credentials of triggers. " NOT_YET,
     ROWS_OF_OBJECT, ONE_OF("spec", keda_spec, REQUIRED, "Sources of the parameters."),
     ONE_OF("status", keda_status, 0, "Observed state, set by controllers."));

static bool is_set(yyjson_mut_val *of, const char *name) {
    return json_mstr_at(of, name).n > 0;
}

/* What a schema cannot say, in the words of KEDA's webhook. */
static void keda_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    (void)old;
    struct path spec = path_member(NULL, "spec"), at = path_member(&spec, "podIdentity");
    struct path oauth2 = path_member(&spec, "oauth2"), url = path_member(&oauth2, "tokenUrl");
    yyjson_mut_val *id = json_mpath(obj, "spec.podIdentity"), *o = json_mpath(obj, "spec.oauth2");
    bool azure = str_is(json_mstr_at(id, "provider"), "azure-workload");
    bool aws = str_is(json_mstr_at(id, "provider"), "aws");
    if (azure && is_set(id, "identityAuthorityHost") && !is_set(id, "identityTenantId")) {
        cause_forbidden(c, &at, "identityAuthorityHost needs identityTenantId");
    }
    if (aws && is_set(id, "roleArn") && str_is(json_mstr_at(id, "identityOwner"), "workload")) {
        cause_forbidden(c, &at, "roleArn needs identityOwner keda");
    }
    if (aws && is_set(id, "externalID") && !is_set(id, "roleArn")) {
        cause_forbidden(c, &at, "externalID needs roleArn");
    }
    struct str to = json_mstr_at(o, "tokenUrl");
    if (o != NULL && !str_starts(to, STR("http://")) && !str_starts(to, STR("https://"))) {
        cause_invalid(c, &url, to, "must be a valid http or https URL");
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN_PATH("PodIdentity", "string", 0, "spec.podIdentity.provider", "Pod identity."),
    {.name = "Secret", .type = "string", .json_path = ".spec.secretTargetRef[*].name"},
    {.name = "Env", .type = "string", .json_path = ".spec.env[*].name"},
    COLUMN_PATH("VaultAddress", "string", 0, "spec.hashiCorpVault.address", "Address of Vault."),
    COLUMN_PATH("ScaledObjects", "string", 1, "status.scaledobjects", "ScaledObjects."),
    COLUMN_PATH("ScaledJobs", "string", 1, "status.scaledjobs", "ScaledJobs."),
};
#define KEDA_KIND(kind_, plural_, singular_, flags_, schema_, ...)                                 \
    {                                                                                              \
        .group = "keda.sh", .api_version = "keda.sh/v1alpha1", .kind = kind_, .plural = plural_,   \
        .singular = singular_, .short_names = (const char *const[]){__VA_ARGS__, NULL},            \
        .flags = KIND_CUSTOM | KIND_GENERATION | KIND_RV_REQUIRED | KIND_STATUS | (flags_),        \
        .versions = &(const struct kind_version){.version = "v1alpha1", .schema = &schema_},       \
        .n_versions = 1, .columns = columns, .n_columns = COUNT(columns), .check = keda_check,     \
        .prepare = prepare_status, .notice = kind_ ": " NOT_YET,                                   \
    }
const struct kind kind_trigger_authentication =
    KEDA_KIND("TriggerAuthentication", "triggerauthentications", "triggerauthentication",
              KIND_NAMESPACED, schema_keda_authentication, "ta", "triggerauth");
const struct kind kind_cluster_trigger_authentication = KEDA_KIND(
    "ClusterTriggerAuthentication", "clustertriggerauthentications", "clustertriggerauthentication",
    0, schema_keda_cluster_authentication, "cta", "clustertriggerauth");

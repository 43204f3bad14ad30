/*
 * table_volume: the fields of every kind of volume that a pod may name. Claims are in table_storage.c.
 */
#include "api/tables/view_core.h"

#include "api/tables/table.h"

static const char *const always_if_not_present_never_values[] = {
    "Always", "IfNotPresent", "Never", NULL,
};
static const char *const dedicated_managed_shared_values[] = {
    "Dedicated", "Managed", "Shared", NULL,
};
static const char *const host_path_type_values[] = {
    "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate",
    "Socket", NULL,
};
static const char *const none_read_only_read_write_values[] = {
    "None", "ReadOnly", "ReadWrite", NULL,
};
static const struct field host_path_volume_source_fields[] = {
    M(host_path_volume, path, STRING, ONE, "path", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    M(host_path_volume, type, STRING, ONE, "type", 2, .flags = FIELD_F_OPT, .def = "\"\"",
      .values = host_path_type_values, .doc = "Type that the path must have before it is mounted."),
};
const struct schema schema_host_path_volume_source = SCHEMA(
      "io.k8s.api.core.v1.HostPathVolumeSource", host_path_volume_source_fields,
      sizeof(struct host_path_volume), NULL);

static const struct field empty_dir_volume_source_fields[] = {
    M(empty_dir_volume, medium, STRING, ONE, "medium", 1,
      .doc = "Storage medium: empty for disk, Memory for tmpfs."),
    M(empty_dir_volume, size_limit, QUANTITY, ONE, "sizeLimit", 2, .flags = FIELD_F_OPT,
      .doc = "Size limit."),
};
static const struct schema schema_empty_dir_volume_source = SCHEMA(
      "io.k8s.api.core.v1.EmptyDirVolumeSource", empty_dir_volume_source_fields,
      sizeof(struct empty_dir_volume), NULL);

static const struct field gce_persistent_disk_volume_source_fields[] = {
    F(STRING, ONE, "pdName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(INT32, ONE, "partition", 3, .doc = "Partition to mount; 0 is the whole device."),
    F(BOOL, ONE, "readOnly", 4, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_gce_persistent_disk_volume_source = SCHEMA(
      "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource",
      gce_persistent_disk_volume_source_fields, 0, NULL);

static const struct field aws_elastic_block_store_volume_source_fields[] = {
    F(STRING, ONE, "volumeID", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the volume."),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(INT32, ONE, "partition", 3, .doc = "Partition to mount; 0 is the whole device."),
    F(BOOL, ONE, "readOnly", 4, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_aws_elastic_block_store_volume_source = SCHEMA(
      "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource",
      aws_elastic_block_store_volume_source_fields, 0, NULL);

static const struct field git_repo_volume_source_fields[] = {
    F(STRING, ONE, "repository", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "revision", 2),
    F(STRING, ONE, "directory", 3),
};
static const struct schema schema_git_repo_volume_source = SCHEMA(
      "io.k8s.api.core.v1.GitRepoVolumeSource", git_repo_volume_source_fields, 0, NULL);

static const struct field key_to_path_fields[] = {
    M(key_to_path, key, STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    M(key_to_path, path, STRING, ONE, "path", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    M(key_to_path, mode, INT32, ONE, "mode", 3, .flags = FIELD_F_OPT, .max = 511,
      .doc = "Permission bits of this file."),
};
static const struct schema schema_key_to_path = SCHEMA("io.k8s.api.core.v1.KeyToPath",
      key_to_path_fields, sizeof(struct key_to_path), NULL);

static const struct field secret_volume_source_fields[] = {
    M(secret_volume, secret_name, STRING, ONE, "secretName", 1, .doc = "Secret to use."),
    M(secret_volume, items, OBJECT, LIST, "items", 2, .of = &schema_key_to_path,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
    M(secret_volume, default_mode, INT32, ONE, "defaultMode", 3, .flags = FIELD_F_OPT,
      .def = "420", .max = 511,
      .doc = "Permission bits of the files, unless an entry has its own."),
    M(secret_volume, optional, BOOL, ONE, "optional", 4, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_secret_volume_source = SCHEMA(
      "io.k8s.api.core.v1.SecretVolumeSource", secret_volume_source_fields,
      sizeof(struct secret_volume), NULL);

static const struct field nfs_volume_source_fields[] = {
    F(STRING, ONE, "server", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Server to mount from."),
    F(STRING, ONE, "path", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_nfs_volume_source = SCHEMA("io.k8s.api.core.v1.NFSVolumeSource",
      nfs_volume_source_fields, 0, NULL);

static const struct field iscsi_volume_source_fields[] = {
    F(STRING, ONE, "targetPortal", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "iqn", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(INT32, ONE, "lun", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "iscsiInterface", 4, .def = "\"default\""),
    F(STRING, ONE, "fsType", 5, .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 6, .doc = "Whether the volume is mounted read-only."),
    F(STRING, LIST, "portals", 7, .flags = FIELD_F_ATOMIC),
    F(BOOL, ONE, "chapAuthDiscovery", 8),
    F(BOOL, ONE, "chapAuthSession", 11),
    F(OBJECT, ONE, "secretRef", 10, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
    F(STRING, ONE, "initiatorName", 12, .flags = FIELD_F_OPT),
};
static const struct schema schema_iscsi_volume_source =
    SCHEMA("io.k8s.api.core.v1.ISCSIVolumeSource", iscsi_volume_source_fields, 0, NULL);

static const struct field glusterfs_volume_source_fields[] = {
    F(STRING, ONE, "endpoints", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Object that lists the servers."),
    F(STRING, ONE, "path", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_glusterfs_volume_source = SCHEMA(
      "io.k8s.api.core.v1.GlusterfsVolumeSource", glusterfs_volume_source_fields, 0, NULL);

static const struct field persistent_volume_claim_volume_source_fields[] = {
    M(claim_volume, claim_name, STRING, ONE, "claimName", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "PersistentVolumeClaim to mount, in the same namespace."),
    M(claim_volume, read_only, BOOL, ONE, "readOnly", 2,
      .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_persistent_volume_claim_volume_source = SCHEMA(
      "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource",
      persistent_volume_claim_volume_source_fields, sizeof(struct claim_volume), NULL);

static const struct field rbd_volume_source_fields[] = {
    F(STRING, LIST, "monitors", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Ceph monitors."),
    F(STRING, ONE, "image", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the Ceph image."),
    F(STRING, ONE, "fsType", 3, .doc = "File system to mount."),
    F(STRING, ONE, "pool", 4, .def = "\"rbd\""),
    F(STRING, ONE, "user", 5, .def = "\"admin\"", .doc = "User."),
    F(STRING, ONE, "keyring", 6, .def = "\"/etc/ceph/keyring\""),
    F(OBJECT, ONE, "secretRef", 7, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
    F(BOOL, ONE, "readOnly", 8, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_rbd_volume_source = SCHEMA("io.k8s.api.core.v1.RBDVolumeSource",
      rbd_volume_source_fields, 0, NULL);

static const struct field flex_volume_source_fields[] = {
    F(STRING, ONE, "driver", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the storage driver."),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(OBJECT, ONE, "secretRef", 3, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
    F(BOOL, ONE, "readOnly", 4, .doc = "Whether the volume is mounted read-only."),
    F(STRING, MAP, "options", 5, .doc = "Options for the driver."),
};
static const struct schema schema_flex_volume_source = SCHEMA("io.k8s.api.core.v1.FlexVolumeSource",
      flex_volume_source_fields, 0, NULL);

static const struct field cinder_volume_source_fields[] = {
    F(STRING, ONE, "volumeID", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the volume."),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
    F(OBJECT, ONE, "secretRef", 4, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
};
static const struct schema schema_cinder_volume_source = SCHEMA(
      "io.k8s.api.core.v1.CinderVolumeSource", cinder_volume_source_fields, 0, NULL);

static const struct field ceph_fs_volume_source_fields[] = {
    F(STRING, LIST, "monitors", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Ceph monitors."),
    F(STRING, ONE, "path", 2, .doc = "Path, relative to the mount point."),
    F(STRING, ONE, "user", 3, .doc = "User."),
    F(STRING, ONE, "secretFile", 4),
    F(OBJECT, ONE, "secretRef", 5, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
    F(BOOL, ONE, "readOnly", 6, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_ceph_fs_volume_source = SCHEMA(
      "io.k8s.api.core.v1.CephFSVolumeSource", ceph_fs_volume_source_fields, 0, NULL);

static const struct field flocker_volume_source_fields[] = {
    F(STRING, ONE, "datasetName", 1),
    F(STRING, ONE, "datasetUUID", 2),
};
static const struct schema schema_flocker_volume_source = SCHEMA(
      "io.k8s.api.core.v1.FlockerVolumeSource", flocker_volume_source_fields, 0, NULL);

static const struct field downward_api_volume_file_fields[] = {
    M(downward_file, path, STRING, ONE, "path", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    M(downward_file, field_ref, OBJECT, ONE, "fieldRef", 2, .of = &schema_object_field_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC),
    M(downward_file, resource_field_ref, OBJECT, ONE, "resourceFieldRef", 3,
      .of = &schema_resource_field_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC),
    M(downward_file, mode, INT32, ONE, "mode", 4, .flags = FIELD_F_OPT, .max = 511,
      .doc = "Permission bits of this file."),
};
static const struct schema schema_downward_api_volume_file = SCHEMA(
      "io.k8s.api.core.v1.DownwardAPIVolumeFile", downward_api_volume_file_fields,
      sizeof(struct downward_file), NULL);

static const struct field downward_api_volume_source_fields[] = {
    M(downward_volume, items, OBJECT, LIST, "items", 1, .of = &schema_downward_api_volume_file,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
    M(downward_volume, default_mode, INT32, ONE, "defaultMode", 2, .flags = FIELD_F_OPT,
      .def = "420", .max = 511,
      .doc = "Permission bits of the files, unless an entry has its own."),
};
static const struct schema schema_downward_api_volume_source = SCHEMA(
      "io.k8s.api.core.v1.DownwardAPIVolumeSource", downward_api_volume_source_fields,
      sizeof(struct downward_volume), NULL);

static const struct field fc_volume_source_fields[] = {
    F(STRING, LIST, "targetWWNs", 1, .flags = FIELD_F_ATOMIC),
    F(INT32, ONE, "lun", 2, .flags = FIELD_F_OPT),
    F(STRING, ONE, "fsType", 3, .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 4, .doc = "Whether the volume is mounted read-only."),
    F(STRING, LIST, "wwids", 5, .flags = FIELD_F_ATOMIC),
};
static const struct schema schema_fc_volume_source = SCHEMA("io.k8s.api.core.v1.FCVolumeSource",
      fc_volume_source_fields, 0, NULL);

static const struct field azure_file_volume_source_fields[] = {
    F(STRING, ONE, "secretName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Secret to use."),
    F(STRING, ONE, "shareName", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_azure_file_volume_source = SCHEMA(
      "io.k8s.api.core.v1.AzureFileVolumeSource", azure_file_volume_source_fields, 0, NULL);

static const struct field config_map_volume_source_fields[] = {
    M(config_map_volume, name, STRING, ONE, "name", 1, .proto_in = 1,
      .doc = "Name of the ConfigMap."),
    M(config_map_volume, items, OBJECT, LIST, "items", 2, .of = &schema_key_to_path,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
    M(config_map_volume, default_mode, INT32, ONE, "defaultMode", 3, .flags = FIELD_F_OPT,
      .def = "420", .max = 511,
      .doc = "Permission bits of the files, unless an entry has its own."),
    M(config_map_volume, optional, BOOL, ONE, "optional", 4, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_config_map_volume_source = SCHEMA(
      "io.k8s.api.core.v1.ConfigMapVolumeSource", config_map_volume_source_fields,
      sizeof(struct config_map_volume), NULL);

static const struct field vsphere_virtual_disk_volume_source_fields[] = {
    F(STRING, ONE, "volumePath", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(STRING, ONE, "storagePolicyName", 3, .doc = "Storage policy."),
    F(STRING, ONE, "storagePolicyID", 4),
};
static const struct schema schema_vsphere_virtual_disk_volume_source = SCHEMA(
      "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource",
      vsphere_virtual_disk_volume_source_fields, 0, NULL);

static const struct field quobyte_volume_source_fields[] = {
    F(STRING, ONE, "registry", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "volume", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "user", 4, .doc = "User."),
    F(STRING, ONE, "group", 5, .doc = "API group."),
    F(STRING, ONE, "tenant", 6),
};
static const struct schema schema_quobyte_volume_source = SCHEMA(
      "io.k8s.api.core.v1.QuobyteVolumeSource", quobyte_volume_source_fields, 0, NULL);

static const struct field azure_disk_volume_source_fields[] = {
    F(STRING, ONE, "diskName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "diskURI", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "cachingMode", 3, .flags = FIELD_F_OPT, .def = "\"ReadWrite\"",
      .values = none_read_only_read_write_values),
    F(STRING, ONE, "fsType", 4, .flags = FIELD_F_OPT, .def = "\"ext4\"",
      .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 5, .flags = FIELD_F_OPT, .def = "false",
      .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "kind", 6, .flags = FIELD_F_OPT, .def = "\"Shared\"",
      .values = dedicated_managed_shared_values,
      .doc = "Kind of the disk: Shared, Dedicated or Managed."),
};
static const struct schema schema_azure_disk_volume_source = SCHEMA(
      "io.k8s.api.core.v1.AzureDiskVolumeSource", azure_disk_volume_source_fields, 0, NULL);

static const struct field photon_persistent_disk_volume_source_fields[] = {
    F(STRING, ONE, "pdID", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
};
static const struct schema schema_photon_persistent_disk_volume_source = SCHEMA(
      "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource",
      photon_persistent_disk_volume_source_fields, 0, NULL);

static const struct field secret_projection_fields[] = {
    M(secret_volume, secret_name, STRING, ONE, "name", 1, .proto_in = 1,
      .doc = "Name of the Secret."),
    M(secret_volume, items, OBJECT, LIST, "items", 2, .of = &schema_key_to_path,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
    M(secret_volume, optional, BOOL, ONE, "optional", 4, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_secret_projection = SCHEMA("io.k8s.api.core.v1.SecretProjection",
      secret_projection_fields, sizeof(struct secret_volume), NULL);

static const struct field downward_api_projection_fields[] = {
    M(downward_volume, items, OBJECT, LIST, "items", 1, .of = &schema_downward_api_volume_file,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
};
static const struct schema schema_downward_api_projection = SCHEMA(
      "io.k8s.api.core.v1.DownwardAPIProjection", downward_api_projection_fields,
      sizeof(struct downward_volume), NULL);

static const struct field config_map_projection_fields[] = {
    M(config_map_volume, name, STRING, ONE, "name", 1, .proto_in = 1,
      .doc = "Name of the ConfigMap."),
    M(config_map_volume, items, OBJECT, LIST, "items", 2, .of = &schema_key_to_path,
      .flags = FIELD_F_ATOMIC, .doc = "Which keys become which files."),
    M(config_map_volume, optional, BOOL, ONE, "optional", 4, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_config_map_projection = SCHEMA(
      "io.k8s.api.core.v1.ConfigMapProjection", config_map_projection_fields,
      sizeof(struct config_map_volume), NULL);

static const struct field service_account_token_projection_fields[] = {
    M(token_projection, audience, STRING, ONE, "audience", 1),
    M(token_projection, expiration_seconds, INT64, ONE, "expirationSeconds", 2,
      .flags = FIELD_F_OPT, .def = "3600", .min = 600, .max = 4294967296,
      .doc = "Seconds that a token is valid; it is renewed in time."),
    M(token_projection, path, STRING, ONE, "path", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
};
static const struct schema schema_service_account_token_projection = SCHEMA(
      "io.k8s.api.core.v1.ServiceAccountTokenProjection", service_account_token_projection_fields,
      sizeof(struct token_projection), NULL);

static const struct field cluster_trust_bundle_projection_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_OPT, .doc = "Name of the ClusterTrustBundle."),
    F(STRING, ONE, "signerName", 2, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "labelSelector", 3, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Labels of the ClusterTrustBundles to select."),
    F(BOOL, ONE, "optional", 5, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
    F(STRING, ONE, "path", 4, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
};
static const struct schema schema_cluster_trust_bundle_projection = SCHEMA(
      "io.k8s.api.core.v1.ClusterTrustBundleProjection", cluster_trust_bundle_projection_fields,
      0, NULL);

static const struct field pod_certificate_projection_fields[] = {
    F(STRING, ONE, "signerName", 1),
    F(STRING, ONE, "keyType", 2),
    F(INT32, ONE, "maxExpirationSeconds", 3, .flags = FIELD_F_OPT),
    F(STRING, ONE, "credentialBundlePath", 4),
    F(STRING, ONE, "keyPath", 5),
    F(STRING, ONE, "certificateChainPath", 6),
    F(STRING, MAP, "userAnnotations", 7),
};
static const struct schema schema_pod_certificate_projection = SCHEMA(
      "io.k8s.api.core.v1.PodCertificateProjection", pod_certificate_projection_fields, 0,
      NULL);

static const struct field volume_projection_fields[] = {
    M(volume_projection, secret, OBJECT, ONE, "secret", 1, .of = &schema_secret_projection,
      .flags = FIELD_F_OPT),
    M(volume_projection, downward_api, OBJECT, ONE, "downwardAPI", 2,
      .of = &schema_downward_api_projection, .flags = FIELD_F_OPT),
    M(volume_projection, config_map, OBJECT, ONE, "configMap", 3,
      .of = &schema_config_map_projection, .flags = FIELD_F_OPT),
    M(volume_projection, service_account_token, OBJECT, ONE, "serviceAccountToken", 4,
      .of = &schema_service_account_token_projection, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "clusterTrustBundle", 5, .of = &schema_cluster_trust_bundle_projection,
      .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "podCertificate", 6, .of = &schema_pod_certificate_projection,
      .flags = FIELD_F_OPT),
};
static const struct schema schema_volume_projection = SCHEMA("io.k8s.api.core.v1.VolumeProjection",
      volume_projection_fields, sizeof(struct volume_projection), NULL);

static const struct field projected_volume_source_fields[] = {
    M(projected_volume, sources, OBJECT, LIST, "sources", 1, .of = &schema_volume_projection,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Sources of the projected volume."),
    M(projected_volume, default_mode, INT32, ONE, "defaultMode", 2, .flags = FIELD_F_OPT,
      .def = "420", .max = 511,
      .doc = "Permission bits of the files, unless an entry has its own."),
};
static const struct schema schema_projected_volume_source = SCHEMA(
      "io.k8s.api.core.v1.ProjectedVolumeSource", projected_volume_source_fields,
      sizeof(struct projected_volume), NULL);

static const struct field portworx_volume_source_fields[] = {
    F(STRING, ONE, "volumeID", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the volume."),
    F(STRING, ONE, "fsType", 2, .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_portworx_volume_source = SCHEMA(
      "io.k8s.api.core.v1.PortworxVolumeSource", portworx_volume_source_fields, 0, NULL);

static const struct field scale_io_volume_source_fields[] = {
    F(STRING, ONE, "gateway", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "system", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(OBJECT, ONE, "secretRef", 3, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
    F(BOOL, ONE, "sslEnabled", 4),
    F(STRING, ONE, "protectionDomain", 5),
    F(STRING, ONE, "storagePool", 6),
    F(STRING, ONE, "storageMode", 7, .def = "\"ThinProvisioned\""),
    F(STRING, ONE, "volumeName", 8, .doc = "Name of the volume."),
    F(STRING, ONE, "fsType", 9, .def = "\"xfs\"", .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 10, .doc = "Whether the volume is mounted read-only."),
};
static const struct schema schema_scale_io_volume_source = SCHEMA(
      "io.k8s.api.core.v1.ScaleIOVolumeSource", scale_io_volume_source_fields, 0, NULL);

static const struct field storageos_volume_source_fields[] = {
    F(STRING, ONE, "volumeName", 1, .doc = "Name of the volume."),
    F(STRING, ONE, "volumeNamespace", 2),
    F(STRING, ONE, "fsType", 3, .doc = "File system to mount."),
    F(BOOL, ONE, "readOnly", 4, .doc = "Whether the volume is mounted read-only."),
    F(OBJECT, ONE, "secretRef", 5, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Secret that holds the credentials."),
};
static const struct schema schema_storageos_volume_source = SCHEMA(
      "io.k8s.api.core.v1.StorageOSVolumeSource", storageos_volume_source_fields, 0, NULL);

static const struct field csi_volume_source_fields[] = {
    F(STRING, ONE, "driver", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the storage driver."),
    F(BOOL, ONE, "readOnly", 2, .flags = FIELD_F_OPT,
      .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "fsType", 3, .flags = FIELD_F_OPT, .doc = "File system to mount."),
    F(STRING, MAP, "volumeAttributes", 4),
    F(OBJECT, ONE, "nodePublishSecretRef", 5, .of = &schema_local_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC),
};
static const struct schema schema_csi_volume_source = SCHEMA("io.k8s.api.core.v1.CSIVolumeSource",
      csi_volume_source_fields, 0, NULL);

static const struct field persistent_volume_claim_template_fields[] = {
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_claim_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
};
static const struct schema schema_persistent_volume_claim_template = SCHEMA(
      "io.k8s.api.core.v1.PersistentVolumeClaimTemplate", persistent_volume_claim_template_fields,
      0, NULL);

static const struct field ephemeral_volume_source_fields[] = {
    F(OBJECT, ONE, "volumeClaimTemplate", 1, .of = &schema_persistent_volume_claim_template,
      .flags = FIELD_F_OPT),
};
static const struct schema schema_ephemeral_volume_source = SCHEMA(
      "io.k8s.api.core.v1.EphemeralVolumeSource", ephemeral_volume_source_fields, 0, NULL);

static const struct field image_volume_source_fields[] = {
    F(STRING, ONE, "reference", 1),
    F(STRING, ONE, "pullPolicy", 2, .values = always_if_not_present_never_values),
};
static const struct schema schema_image_volume_source =
    SCHEMA("io.k8s.api.core.v1.ImageVolumeSource", image_volume_source_fields, 0, NULL);

static const struct field volume_fields[] = {
    M(volume, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .format = "dns1123-label", .doc = "Name of the volume, used by volumeMounts."),
    M(volume, host_path, OBJECT, ONE, "hostPath", 1, .of = &schema_host_path_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A directory or file of the node."),
    M(volume, empty_dir, OBJECT, ONE, "emptyDir", 2, .of = &schema_empty_dir_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2,
      .doc = "An empty directory that lives as long as the pod."),
    F(OBJECT, ONE, "gcePersistentDisk", 3, .of = &schema_gce_persistent_disk_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2),
    F(OBJECT, ONE, "awsElasticBlockStore", 4, .of = &schema_aws_elastic_block_store_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2),
    F(OBJECT, ONE, "gitRepo", 5, .of = &schema_git_repo_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    M(volume, secret, OBJECT, ONE, "secret", 6, .of = &schema_secret_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A Secret, as files."),
    M(volume, nfs, OBJECT, ONE, "nfs", 7, .of = &schema_nfs_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2, .doc = "A directory of an NFS server."),
    F(OBJECT, ONE, "iscsi", 8, .of = &schema_iscsi_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "glusterfs", 9, .of = &schema_glusterfs_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    M(volume, persistent_volume_claim, OBJECT, ONE, "persistentVolumeClaim", 10,
      .of = &schema_persistent_volume_claim_volume_source, .flags = FIELD_F_OPT, .proto_in = 2,
      .doc = "Storage that outlives the pod."),
    F(OBJECT, ONE, "rbd", 11, .of = &schema_rbd_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "flexVolume", 12, .of = &schema_flex_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "cinder", 13, .of = &schema_cinder_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "cephfs", 14, .of = &schema_ceph_fs_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "flocker", 15, .of = &schema_flocker_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    M(volume, downward_api, OBJECT, ONE, "downwardAPI", 16,
      .of = &schema_downward_api_volume_source, .flags = FIELD_F_OPT, .proto_in = 2,
      .doc = "Fields of the pod, as files."),
    F(OBJECT, ONE, "fc", 17, .of = &schema_fc_volume_source, .flags = FIELD_F_OPT, .proto_in = 2),
    F(OBJECT, ONE, "azureFile", 18, .of = &schema_azure_file_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    M(volume, config_map, OBJECT, ONE, "configMap", 19, .of = &schema_config_map_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A ConfigMap, as files."),
    F(OBJECT, ONE, "vsphereVolume", 20, .of = &schema_vsphere_virtual_disk_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2),
    F(OBJECT, ONE, "quobyte", 21, .of = &schema_quobyte_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "azureDisk", 22, .of = &schema_azure_disk_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "photonPersistentDisk", 23, .of = &schema_photon_persistent_disk_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2),
    M(volume, projected, OBJECT, ONE, "projected", 26, .of = &schema_projected_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "Several volume sources in one directory."),
    F(OBJECT, ONE, "portworxVolume", 24, .of = &schema_portworx_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2),
    F(OBJECT, ONE, "scaleIO", 25, .of = &schema_scale_io_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    F(OBJECT, ONE, "storageos", 27, .of = &schema_storageos_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2),
    M(volume, csi, OBJECT, ONE, "csi", 28, .of = &schema_csi_volume_source, .flags = FIELD_F_OPT,
      .proto_in = 2, .doc = "A volume that a CSI driver creates for the pod."),
    M(volume, ephemeral, OBJECT, ONE, "ephemeral", 29, .of = &schema_ephemeral_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2,
      .doc = "A claim that is created and deleted with the pod."),
    M(volume, image, OBJECT, ONE, "image", 30, .of = &schema_image_volume_source,
      .flags = FIELD_F_OPT, .proto_in = 2, .doc = "A volume with the files of a container image."),
};
const struct schema schema_volume = SCHEMA("io.k8s.api.core.v1.Volume", volume_fields,
      sizeof(struct volume), "Storage that a pod's containers may mount.");

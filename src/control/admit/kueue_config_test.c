/* Tests of the Configuration's reader: what is filled in, what is refused with which words, what is warned of. */
#include "base/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "control/admit/kueue_config.h"
#include "core/admit/engine.h"

#define HEAD "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
#define OLD "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n"

static void read_ok(struct kueue_config *c, const char *text) {
    struct err err = {0};
    assert_ok(kueue_config_read(str_of(text), c, &err), &err);
}

static void defaults(void **state) {
    struct kueue_config c;
    const struct queue_settings *d = queue_settings_defaults();
    read_ok(&c, HEAD);
    assert_int_equal(c.n_warnings, 0);
    assert_true(c.settings.ready.on);
    assert_true(c.settings.ready.timeout_ns == d->ready.timeout_ns);
    assert_true(c.settings.ready.recovery_timeout_ns == d->ready.timeout_ns);
    assert_int_equal(c.settings.ready.backoff_limit, -1);
    assert_false(c.settings.fair_sharing);
    assert_false(c.settings.usage.on);
    assert_true(c.settings.metrics.local_queues);
    assert_memory_equal(&c.settings.gates, &d->gates, sizeof(d->gates));
    assert_true(c.settings.keep_finished_ns == -1 && c.settings.keep_deactivated_ns == -1);
    struct str_pair pair = {STR("kubernetes.io/metadata.name"), STR("kueue-system")};
    struct str_map labels = {&pair, 1};
    assert_false(selector_matches(c.settings.managed_namespaces, &labels));
    pair.value = STR("team");
    assert_true(selector_matches(c.settings.managed_namespaces, &labels));
    kueue_config_release(&c);
}

static const char everything[] = HEAD
    "metadata: {annotations: {berth.dev/break-alternation: 'true'}}\n"
    "namespace: queues\n"
    "manageJobsWithoutQueueName: true\n"
    "metrics: {enableClusterQueueResources: true, localQueueMetrics: {enable: true,\n"
    "  localQueueSelector: {matchLabels: {a: b}}}}\n"
    "waitForPodsReady: {timeout: 10m, blockAdmission: true, requeuingStrategy:\n"
    "  {timestamp: Creation, backoffLimitCount: 5, backoffBaseSeconds: 7, backoffMaxSeconds: 70}}\n"
    "integrations: {frameworks: [batch/job], labelKeysToCopy: [team, example.com/x]}\n"
    "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n"
    "admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 1m,\n"
    "  resourceWeights: {cpu: 0.5, nvidia.com/gpu: 2}}\n"
    "resources:\n"
    "  excludeResourcePrefixes: [example.com/]\n"
    "  transformations:\n"
    "  - {input: nvidia.com/mig-1g.5gb, strategy: Replace, outputs: {example.com/mem: 5Gi, n: 1}}\n"
    "  - {input: cpu, multiplyBy: pods, outputs: {credits: 1.5}}\n"
    "  deviceClassMappings:\n"
    "  - {name: whole-gpus, deviceClassNames: [a.example.com, b.example.com]}\n"
    "featureGates: {PriorityBoost: true, PartialAdmission: false}\n"
    "objectRetentionPolicies: {workloads: {afterFinished: 0s, afterDeactivatedByKueue: 1h}}\n";

static void filled(void **state) {
    struct kueue_config c;
    read_ok(&c, everything);
    const struct queue_settings *s = &c.settings;
    assert_int_equal(c.n_warnings, 0);
    assert_true(s->manage_jobs_without_queue_name && s->break_alternation);
    assert_true(s->metrics.cluster_queue_resources);
    assert_int_equal(s->metrics.local_queue_selector->n, 1);
    assert_true(s->ready.timeout_ns == 600 * NS_PER_SEC);
    assert_true(s->ready.recovery_timeout_ns == 600 * NS_PER_SEC); /* follows */
    assert_true(s->ready.block_admission && s->ready.by_creation);
    assert_int_equal(s->ready.backoff_limit, 5);
    assert_int_equal(s->ready.backoff_base_s, 7);
    assert_int_equal(s->ready.backoff_max_s, 70);
    assert_int_equal(s->n_label_keys_to_copy, 2);
    assert_str_eq(s->label_keys_to_copy[1], STR("example.com/x"));
    assert_true(s->fair_sharing);
    assert_int_equal(s->fair_strategies, FAIR_FINAL_SHARE | FAIR_INITIAL_SHARE);
    assert_true(s->usage.on && s->usage.half_life_ns == 168 * 3600 * NS_PER_SEC);
    assert_true(s->usage.sampling_interval_ns == 60 * NS_PER_SEC);
    assert_int_equal(s->usage.n_weights, 2);
    assert_true(s->usage.weights[0].weight == 0.5);
    assert_int_equal(s->resources.n_exclude_prefixes, 1);
    assert_int_equal(s->resources.n_transformations, 2);
    assert_int_equal(s->resources.n_devices, 1);
    assert_true(str_is(s->resources.devices[0].resource, "whole-gpus"));
    assert_int_equal(s->resources.devices[0].n_classes, 2);
    assert_true(str_is(s->resources.devices[0].classes[1], "b.example.com"));
    const struct queue_transformation *t = s->resources.transformations;
    assert_true(t[0].replace && !t[1].replace);
    assert_int_equal(quantity_value(t[0].outputs[0].factor), 5LL << 30);
    assert_int_equal(quantity_milli(t[1].outputs[0].factor), 1500);
    assert_str_eq(t[1].multiply_by, STR("pods"));
    assert_true(s->gates.priority_boost && !s->gates.partial_admission);
    assert_true(s->keep_finished_ns == 0 && s->keep_deactivated_ns == 3600 * NS_PER_SEC);
    kueue_config_release(&c);
}

static void old_version(void **state) {
    struct kueue_config c;
    read_ok(&c, OLD "waitForPodsReady: {enable: true}\nfairSharing: {enable: true}\n");
    assert_true(c.settings.ready.on && c.settings.ready.block_admission);
    assert_true(c.settings.ready.timeout_ns == 300 * NS_PER_SEC);
    assert_true(c.settings.fair_sharing);
    assert_int_equal(c.settings.fair_strategies, 0);
    kueue_config_release(&c);
    read_ok(&c,
            OLD "waitForPodsReady: {enable: false}\nfairSharing: {enable: false}\n"
                "queueVisibility: {updateIntervalSeconds: 5, clusterQueues: {maxCount: 10}}\n"
                "integrations: {frameworks: [batch/job, pod], podOptions: {podSelector: {}}}\n");
    assert_false(c.settings.ready.on);
    assert_false(c.settings.fair_sharing);
    assert_int_equal(c.n_warnings, 2);
    kueue_config_release(&c);
}

/* Each thing that is left idle is named once; what is inside it is not named again. */
static void idle(void **state) {
    struct kueue_config c;
    static const char *const want[] = {
        "webhook has no effect: ",
        "leaderElection has no effect: ",
        "metrics.bindAddress has no effect: ",
        "health has no effect: ",
        "controller has no effect: ",
        "internalCertManagement has no effect: ",
        "clientConnection has no effect: ",
        "multiKueue has no effect: ",
        "visibilityServer has no effect: ",
        "featureGates[TASProfileMixed]: false has no effect",
        "integrations.frameworks[1]: \"sparkoperator.k8s.io/sparkapplication\" has no effect: ",
    };
    read_ok(&c, HEAD "webhook: {port: 9443}\n"
                     "leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}\n"
                     "metrics: {bindAddress: ':8443'}\n"
                     "health: {healthProbeBindAddress: ':8081'}\n"
                     "pprofBindAddress: null\n"
                     "controller: {groupKindConcurrency: {Job.batch: 5, Pod: 5}}\n"
                     "internalCertManagement: {enable: true}\n"
                     "clientConnection: {qps: 300, burst: 500}\n"
                     "multiKueue: {gcInterval: 1m}\n"
                     "visibilityServer: {bindAddress: '::', bindPort: 8082}\n"
                     "featureGates: {TASProfileMixed: false, MultiKueue: true}\n"
                     "integrations: {frameworks: [batch/job, "
                     "sparkoperator.k8s.io/sparkapplication]}\n");
    assert_int_equal(c.settings.n_frameworks, 2);
    assert_int_equal(c.n_warnings, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        bool found = false;
        for (size_t k = 0; k < c.n_warnings; k++) {
            found = found || str_starts(c.warnings[k], str_of(want[i]));
        }
        if (!found) {
            print_error("no warning: %s\n", want[i]);
        }
        assert_true(found);
    }
    kueue_config_release(&c);
}

static const struct {
    const char *text, *error;
} refused[] = {
    {"kind: Configuration", "apiVersion: \"\" is not one of"},
    {"apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Config", "kind: \"Config\" is not"},
    {HEAD "fairsharing: {}", "fairsharing: unknown field"},
    {HEAD "waitForPodsReady: {enable: true}", "waitForPodsReady.enable: unknown field"},
    {HEAD "queueVisibility: {}", "queueVisibility: unknown field"},
    {HEAD "fairSharing: {enable: true}", "fairSharing.enable: unknown field"},
    {HEAD "integrations: {podOptions: {}}", "integrations.podOptions: unknown field"},
    {HEAD "metrics: {customLabels: [{name: a, x: 1}]}", "metrics.customLabels[0].x: unknown"},
    {HEAD "manageJobsWithoutQueueName: 1",
     "manageJobsWithoutQueueName: Invalid value: \"integer\": manageJobsWithoutQueueName in body "
     "must be of type boolean: \"integer\""},
    {HEAD "waitForPodsReady: []", "waitForPodsReady: Invalid value: \"array\": waitForPodsReady in "
                                  "body must be of type object: \"array\""},
    {HEAD "waitForPodsReady: {timeout: 5}",
     "waitForPodsReady.timeout: Invalid value: \"integer\": waitForPodsReady.timeout in body must "
     "be of type string: \"integer\""},
    {HEAD "waitForPodsReady: {timeout: -5m}",
     "waitForPodsReady.timeout: must be greater than or equal to 0"},
    {HEAD "waitForPodsReady: {recoveryTimeout: x}",
     "waitForPodsReady.recoveryTimeout: Invalid value: \"x\": invalid duration"},
    {HEAD "waitForPodsReady: {requeuingStrategy: {timestamp: Now}}",
     "waitForPodsReady.requeuingStrategy.timestamp: Unsupported value: \"Now\": supported values: "
     "\"Creation\", \"Eviction\""},
    {HEAD "waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}",
     "waitForPodsReady.requeuingStrategy.backoffLimitCount: Invalid value: -1: must be greater "
     "than or equal to 0"},
    {HEAD "managedJobsNamespaceSelector: {}",
     "managedJobsNamespaceSelector: should not match the \"kube-system\" namespace"},
    {HEAD "namespace: mine\nmanagedJobsNamespaceSelector: {matchExpressions: [{key: "
          "kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}",
     "managedJobsNamespaceSelector: should not match the \"mine\" namespace"},
    {HEAD "managedJobsNamespaceSelector: {labels: {}}",
     "managedJobsNamespaceSelector.labels: unknown field"},
    {HEAD "namespace: Not_A_Name", "namespace: Invalid value: \"Not_A_Name\": a lowercase"},
    {HEAD "webhook: {port: 70000}",
     "webhook.port: Invalid value: 70000: must be between 1 and 65535, inclusive"},
    {HEAD "metrics: {customLabels: [{name: a-b}]}",
     "metrics.customLabels[0].name: must match ^[a-zA-Z][a-zA-Z0-9_]*$"},
    {HEAD "metrics: {customLabels: [{name: a}, {name: a}]}",
     "metrics.customLabels[1].name: stands twice"},
    {HEAD "metrics: {customLabels: [{name: a, sourceLabelKey: x, sourceAnnotationKey: z}]}",
     "metrics.customLabels[0]: only one of sourceLabelKey and sourceAnnotationKey"},
    {HEAD "metrics: {customLabels: [{name: a, sourceKind: Pod}]}",
     "metrics.customLabels[0].sourceKind: Unsupported value: \"Pod\": supported values: "
     "\"ClusterQueue\", \"LocalQueue\", \"Cohort\", \"Workload\""},
    {HEAD "metrics: {customLabels: [{name: a, sourceKind: Workload}]}",
     "metrics.customLabels[0].trackedValues: expected 1 to 12 values for Workload, not 0"},
    {HEAD "metrics: {customLabels: [{name: a, trackedValues: [x, x]}]}",
     "metrics.customLabels[0].trackedValues: \"x\" stands twice"},
    {HEAD "metrics: {customLabels: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, "
          "{name: f}, {name: g}]}",
     "metrics.customLabels[6]: at most 6 labels of ClusterQueue"},
    {HEAD "tls: {minVersion: VersionTLS13, cipherSuites: [TLS_AES_128_GCM_SHA256]}",
     "tls.cipherSuites: may not be set with minVersion VersionTLS13"},
    {HEAD "tls: {cipherSuites: [fast]}", "tls.cipherSuites[0]: expected the name of a cipher"},
    {HEAD "tls: {curvePreferences: [X25519]}",
     "tls.curvePreferences[0]: Invalid value: \"string\": tls.curvePreferences[0] in body must be "
     "of type integer: \"string\""},
    {HEAD "internalCertManagement: {webhookServiceName: 1-st}",
     "internalCertManagement.webhookServiceName: Invalid value: \"1-st\": a DNS-1035"},
    {HEAD "internalCertManagement: {webhookSecretName: A}",
     "internalCertManagement.webhookSecretName: Invalid value: \"A\": a lowercase"},
    {HEAD "integrations: {frameworks: [batch/jobs]}",
     "integrations.frameworks[0]: \"batch/jobs\" is not a known framework"},
    {HEAD "integrations: {frameworks: [pod, pod]}",
     "integrations.frameworks[1]: \"pod\" stands twice"},
    {HEAD "integrations: {externalFrameworks: [Foo.v1]}",
     "integrations.externalFrameworks[0]: expected Kind.version.group"},
    {HEAD "integrations: {frameworks: [batch/job], externalFrameworks: [Job.v1.batch]}",
     "integrations.externalFrameworks[0]: is already in integrations.frameworks"},
    {HEAD "integrations: {labelKeysToCopy: ['a b']}",
     "integrations.labelKeysToCopy[0]: Invalid value: \"a b\": name part"},
    {HEAD "multiKueue: {gcInterval: -1s}", "multiKueue.gcInterval: must be greater than or equal"},
    {HEAD "multiKueue: {origin: 'no spaces'}",
     "multiKueue.origin: Invalid value: \"no spaces\": a valid label"},
    {HEAD "multiKueue: {incrementalDispatcherConfig: {stepSize: 2}}",
     "multiKueue.incrementalDispatcherConfig: needs dispatcherName"},
    {HEAD "multiKueue: {dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental, "
          "incrementalDispatcherConfig: {stepSize: 0}}",
     "multiKueue.incrementalDispatcherConfig.stepSize: Invalid value: 0: must be greater than 0"},
    {HEAD "multiKueue: {externalFrameworks: [{name: Job.v1.batch}]}",
     "multiKueue.externalFrameworks[0].name: \"Job.v1.batch\" is built in"},
    {HEAD "multiKueue: {clusterProfile: {accessProviders: [], credentialsProviders: []}}",
     "multiKueue.clusterProfile: only one of"},
    {HEAD "fairSharing: {}", "fairSharing.preemptionStrategies: required"},
    {HEAD "fairSharing: {preemptionStrategies: [Fair]}",
     "fairSharing.preemptionStrategies[0]: Unsupported value: \"Fair\": supported values: "
     "\"LessThanOrEqualToFinalShare\", \"LessThanInitialShare\""},
    {HEAD "fairSharing: {preemptionStrategies: [LessThanInitialShare, "
          "LessThanOrEqualToFinalShare]}",
     "fairSharing.preemptionStrategies: of two, "},
    {HEAD "admissionFairSharing: {}", "admissionFairSharing.usageHalfLifeTime: Required value"},
    {HEAD "admissionFairSharing: {usageHalfLifeTime: 1h, usageSamplingInterval: 0s}",
     "admissionFairSharing.usageSamplingInterval: must be greater than 0"},
    {HEAD "admissionFairSharing: {usageHalfLifeTime: 1h, resourceWeights: {cpu: -1}}",
     "admissionFairSharing.resourceWeights[cpu]: must be greater than or equal to 0"},
    {HEAD "resources: {transformations: [{input: cpu}, {input: cpu}]}",
     "resources.transformations[1].input: \"cpu\" stands twice"},
    {HEAD "resources: {transformations: [{strategy: Retain}]}",
     "resources.transformations[0].input: Required value"},
    {HEAD "resources: {transformations: [{input: cpu, strategy: Drop}]}",
     "resources.transformations[0].strategy: Unsupported value: \"Drop\": supported values: "
     "\"Retain\", \"Replace\""},
    {HEAD "resources: {transformations: [{input: cpu, outputs: {x: many}}]}",
     "resources.transformations[0].outputs[x]: quantities must"},
    {HEAD "resources: {quotaCheckStrategy: IgnoreUndeclared, excludeResourcePrefixes: [a]}",
     "resources.quotaCheckStrategy: IgnoreUndeclared may not be set with"},
    {HEAD "resources: {deviceClassMappings: [{name: a, deviceClassNames: []}]}",
     "resources.deviceClassMappings[0].deviceClassNames: Required value"},
    {HEAD "featureGates: {Nothing: true}", "featureGates[Nothing]: unknown feature gate"},
    {HEAD "featureGates: {TLSOptions: false}", "featureGates[TLSOptions]: is locked to true"},
    {HEAD "featureGates: {UnadmittedWorkloadsObservability: false, "
          "UnadmittedWorkloadsExplicitStatus: true}",
     "featureGates[UnadmittedWorkloadsExplicitStatus]: needs UnadmittedWorkloadsObservability"},
    {HEAD "featureGates: {PriorityBoost: yes please}",
     "featureGates[PriorityBoost]: Invalid value: \"string\": featureGates[PriorityBoost] in body "
     "must be of type boolean: \"string\""},
    {HEAD "objectRetentionPolicies: {workloads: {afterFinished: -1s}}",
     "objectRetentionPolicies.workloads.afterFinished: must be greater than or equal to 0"},
    {HEAD "visibilityServer: {bindAddress: localhost}",
     "visibilityServer.bindAddress: expected an IP address"},
    {HEAD "visibilityServer: {bindPort: 0}",
     "visibilityServer.bindPort: Invalid value: 0: must be between 1 and 65535, inclusive"},
    {HEAD "metadata: {annotations: {berth.dev/break-alternation: 'yes'}}",
     "metadata.annotations[berth.dev/break-alternation]: expected \"true\" or \"false\""},
    {HEAD "---\n" HEAD, ""},
    {"[]", "apiVersion"},
    {"a: {", ""},
};

static void refusals(void **state) {
    bool all = true;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct kueue_config c;
        struct err err = {0};
        int r = kueue_config_read(str_of(refused[i].text), &c, &err);
        if (r == 0 || strncmp(err.text, refused[i].error, strlen(refused[i].error)) != 0) {
            print_error("%s\ngot:  %s\nwant: %s\n", refused[i].text, err.text, refused[i].error);
            all = false;
        }
    }
    assert_true(all);
}

static void no_memory(void **state) {
    for (uint64_t nth = 1; nth < 1000; nth++) {
        struct kueue_config c;
        mem_fault(nth, 0);
        int r = kueue_config_read(str_of(everything), &c, NULL);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        if (r == 0) {
            kueue_config_release(&c);
            assert_false(hit);
            return;
        }
    }
    fail();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(filled),   cmocka_unit_test(old_version),
        cmocka_unit_test(idle),     cmocka_unit_test(refusals), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* table_runtimes: the fields of KServe's ServingRuntime and ClusterServingRuntime. */
#include "api/models/pod_rows.h"
#include "api/models/view_models.h"

#define KSERVE(name_) "io.kserve.serving.v1alpha1." name_
#define PART(name_, component_, doc_, ...)                                                         \
    TABLE(static, name_, KSERVE(component_), doc_, __VA_ARGS__)

static const char *const protocols[] = {"v1", "v2", "grpc-v1", "grpc-v2", "openai", NULL};

PART(supported_format, "SupportedModelFormat", "A format that the runtime can serve.",
     F(STRING, ONE, "name", 0, .flags = REQUIRED, .min = 1, .max = 63,
       .doc = "Name of the format."),
     F(STRING, ONE, "version", 0, .max = 63, .doc = "Version of the format; any unless set."),
     FLAG("autoSelect", "Whether models of the format get the runtime unasked."),
     F(INT32, ONE, "priority", 0, .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
       .doc = "The higher one is chosen among runtimes of the same format."));
PART(runtime_spec, "ServingRuntimeSpec", "A model server, and the formats it serves.",
     F(OBJECT, LIST, "supportedModelFormats", 0, .of = &schema_supported_format,
       .flags = FIELD_F_ATOMIC, .max = 64, .doc = "Formats that it can serve."),
     SOME("containers", container, REQUIRED, "Its containers; kserve-container is the server."),
     F(STRING, LIST, "protocolVersions", 0, .flags = FIELD_F_ATOMIC, .values = protocols,
       .doc = "Protocols that it speaks; all unless set."),
     FLAG("multiModel", "Not supported."), FLAG("disabled", "Whether nobody may use it."),
     F(STRING, MAP, "labels", 0, .doc = "Labels of the pods."),
     F(STRING, MAP, "annotations", 0, .doc = "Annotations of the pods."),
     F(ANY, ONE, "workerSpec", 0, .doc = "Not supported."), ROWS_OF_POD);
TABLE(, serving_runtime, KSERVE("ServingRuntime"),
      "How a model server is started, and the formats of models that it serves.", ROWS_OF_OBJECT,
      ONE_OF("spec", runtime_spec, REQUIRED, "The model server."));

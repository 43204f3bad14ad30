/* serve_names: see serve_names.h. */
#include "core/serve/serve_names.h"

static bool name_fits(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = c >= 'a' && c <= 'z', inner = (c >= '0' && c <= '9') || c == '-';
        if (!letter && (i == 0 || !inner || (c == '-' && i + 1 == s.n))) {
            return false;
        }
    }
    return s.n > 0 && s.n <= SERVE_NAME_MAX;
}

int serve_names(struct arena *a, struct str name, struct str namespace, struct str domain,
                struct serve_names *ret, struct err *err) {
    if (!name_fits(name)) {
        return err_set(err, ERR_INVALID,
                       "metadata.name: expected at most %d lower-case letters, digits and '-', a "
                       "letter first, "
                       "as names and labels of what is made add to it",
                       SERVE_NAME_MAX);
    }
    struct serve_names x = {
        .predictor = arena_f(a, "%.*s-predictor", STR_ARG(name)),
        .canary = arena_f(a, "%.*s-predictor-canary", STR_ARG(name)),
        .app = arena_f(a, "isvc.%.*s-predictor", STR_ARG(name)),
        .app_canary = arena_f(a, "isvc.%.*s-predictor-canary", STR_ARG(name)),
        .address = arena_f(a, "http://%.*s-predictor.%.*s.svc.cluster.local", STR_ARG(name),
                           STR_ARG(namespace)),
        .host = arena_f(a, "%.*s-%.*s.%.*s", STR_ARG(name), STR_ARG(namespace), STR_ARG(domain)),
    };
    x.url = arena_f(a, "http://%.*s", STR_ARG(x.host));
    if (arena_ok(a) != 0) {
        return err_set(err, ERR_NOMEM, "no memory for the names of an InferenceService");
    }
    *ret = x;
    return 0;
}

int serve_names_mode(struct str annotation, struct err *err) {
    if (annotation.n == 0 || str_is(annotation, "Standard") ||
        str_is(annotation, "RawDeployment")) {
        return 0;
    }
    if (str_is(annotation, "Knative") || str_is(annotation, "Serverless") ||
        str_is(annotation, "ModelMesh")) {
        return err_set(err, ERR_UNSUPPORTED,
                       "annotation serving.kserve.io/deploymentMode: \"%.*s\" is not run here; "
                       "expected Standard",
                       STR_ARG(annotation));
    }
    return err_set(err, ERR_INVALID,
                   "annotation serving.kserve.io/deploymentMode: expected Standard, not \"%.*s\"",
                   STR_ARG(annotation));
}

/*
 * kueue_config: from text to a document, which is checked by the table of its members as any object of the API is.
 *
 * Paths of errors are written as a user would look for them: resources.transformations[2].strategy.
 */
#include "control/admit/kueue_config_private.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/schema/codec.h"
#include "base/limits.h"
#include "wire/yaml.h"

enum { TEXT_BYTES = 400, SHOWN = 256 };

int config_fault(struct config_reader *r, const char *path, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(r->err, ERR_INVALID, "%s: %s", path, text);
}

void config_warn(struct config_reader *r, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    struct kueue_config *c = r->c;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->n_warnings == c->cap_warnings &&
        ARENA_GROW(&c->arena, c->warnings, c->cap_warnings) != 0) {
        return; /* the arena remembers */
    }
    c->warnings[c->n_warnings++] = arena_str(&c->arena, str_of(text));
}

/* ---- by the table ---- */

static void unknown(void *ctx, struct str path) {
    struct config_reader *r = ctx;
    if (r->err == NULL || r->err->code == 0) {
        (void)err_set(r->err, ERR_INVALID, "%.*s: unknown field", STR_ARG(str_head(path, SHOWN)));
    }
    r->refused = true;
}

static void repeated(void *ctx, struct str path) {
    struct config_reader *r = ctx;
    if (r->err == NULL || r->err->code == 0) {
        (void)err_set(r->err, ERR_INVALID, "%.*s: stands twice", STR_ARG(str_head(path, SHOWN)));
    }
    r->refused = true;
}

int config_shape(struct config_reader *r, yyjson_val *root) {
    const struct kind *k = &kind_kueue_configuration;
    const struct kind_version *v = &k->versions[r->old ? 1 : 0];
    const struct codec_names names = {unknown, repeated, r};
    struct causes causes = {.arena = &r->c->arena};
    yyjson_mut_doc *d = json_mut_copy(&r->c->arena, root);
    int code = d != NULL ? codec_names(v->schema, root, &names) : ERR_NOMEM;
    if (code == 0 && r->refused) {
        return ERR_INVALID;
    }
    if (code == 0) {
        code = codec_default_in(k, v, d, r->err); /* quantities may be numbers */
    }
    if (code == 0) {
        code = codec_validate_in(k, v, yyjson_mut_doc_get_root(d), NULL, &causes);
    }
    if (code != 0) {
        return err_set(r->err, ERR_NOMEM, "out of memory");
    }
    return causes.n == 0 ? 0
                         : err_set(r->err, ERR_INVALID, "%.*s: %.*s", STR_ARG(causes.v[0].field),
                                   STR_ARG(causes.v[0].text));
}

/* ---- what Berth does not act on ---- */

#define WITH_API "berth up serves it with its API"

static const struct {
    const char *path, *why;
} idle[] = {
    {"webhook", "admission is part of berth up; berth operate has --webhook"},
    {"leaderElection", "berth up is one process; berth operate has --lease-name and others"},
    {"metrics.bindAddress", WITH_API ", berth operate at --metrics"},
    {"metrics.customLabels", "metrics carry no custom labels"},
    {"health", WITH_API ", berth operate at --health"},
    {"pprofBindAddress", "there is no profile of this kind"},
    {"controller", "controllers run on one thread and read no remote cache"},
    {"tls", "it cannot be chosen"},
    {"internalCertManagement", "berth operate certifies its webhooks, or takes --webhook-cert"},
    {"clientConnection", "berth up needs no limit; berth operate has --qps and --burst"},
    {"integrations.externalFrameworks", "no outside controller makes Workloads here"},
    {"integrations.podOptions", "pods are chosen by their queue and managedJobsNamespaceSelector"},
    {"queueVisibility", "positions are computed when they are read (visibility.kueue.x-k8s.io)"},
    {"multiKueue", "MultiKueue is not there"},
    {"visibilityServer", WITH_API},
};

int config_idle(struct config_reader *r, yyjson_val *root) {
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (json_path(root, idle[i].path) != NULL) {
            config_warn(r, "%s has no effect: %s", idle[i].path, idle[i].why);
        }
    }
    CONFIG_EACH(json_path(root, "resources.deviceClassMappings"), k, e) {
        if (json_get(e, STR("sources")) != NULL) {
            config_warn(r,
                        "resources.deviceClassMappings[%zu].sources has no effect: devices are "
                        "counted whole",
                        k);
        }
    }
    return 0;
}

/* ---- the document ---- */

static int version(struct config_reader *r, yyjson_val *root) {
    struct str v = json_str_at(root, "apiVersion"), kind = json_str_at(root, "kind");
    r->old = str_is(v, "config.kueue.x-k8s.io/v1beta1");
    if (!r->old && !str_is(v, "config.kueue.x-k8s.io/v1beta2")) {
        return config_fault(r, "apiVersion",
                            "\"%.*s\" is not one of config.kueue.x-k8s.io/v1beta2, "
                            "config.kueue.x-k8s.io/v1beta1",
                            STR_ARG(str_head(v, SHOWN)));
    }
    if (!str_is(kind, "Configuration")) {
        return config_fault(r, "kind", "\"%.*s\" is not Configuration",
                            STR_ARG(str_head(kind, SHOWN)));
    }
    return 0;
}

/* A member that is null is absent. */
static void drop_nulls(yyjson_mut_val *v) {
    yyjson_mut_val *k, *e;
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    while (yyjson_mut_is_obj(v) && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        if (yyjson_mut_is_null(yyjson_mut_obj_iter_get_val(k))) {
            (void)yyjson_mut_obj_iter_remove(&it);
        } else {
            drop_nulls(yyjson_mut_obj_iter_get_val(k));
        }
    }
    yyjson_mut_arr_iter list = yyjson_mut_arr_iter_with(v);
    while (yyjson_mut_is_arr(v) && (e = yyjson_mut_arr_iter_next(&list)) != NULL) {
        drop_nulls(e);
    }
}

static int parse(struct config_reader *r, struct str text, yyjson_val **ret) {
    yyjson_mut_doc *mut;
    yyjson_doc *doc;
    struct buf b;
    if (text.n > KUEUE_CONFIG_BYTES) {
        return err_set(r->err, ERR_TOO_LARGE, "more than %d bytes", KUEUE_CONFIG_BYTES);
    }
    int code = yaml_parse_one(&r->c->arena, text, &mut, r->err);
    if (code != 0) {
        return code;
    }
    drop_nulls(yyjson_mut_doc_get_root(mut));
    buf_init(&b, 16 * KUEUE_CONFIG_BYTES); /* aliases may make it grow */
    json_write_mut(&b, yyjson_mut_doc_get_root(mut));
    code = buf_ok(&b) != 0 ? err_set(r->err, ERR_TOO_LARGE, "too large with its aliases")
                           : json_parse(&r->c->arena, buf_view(&b), &doc, r->err);
    buf_release(&b);
    if (code == 0) {
        *ret = yyjson_doc_get_root(doc);
    }
    return code;
}

static int read_document(struct config_reader *r, struct str text) {
    yyjson_val *root = NULL;
    int (*const steps[])(struct config_reader *, yyjson_val *) = {
        version, config_shape, config_rules, config_gates, config_idle, config_fill};
    int code = parse(r, text, &root);
    for (size_t i = 0; code == 0 && i < sizeof(steps) / sizeof(*steps); i++) {
        code = steps[i](r, root);
    }
    if (code == 0 && arena_ok(&r->c->arena) != 0) {
        code = err_set(r->err, ERR_NOMEM, "out of memory");
    }
    return code;
}

int kueue_config_read(struct str text, struct kueue_config *ret, struct err *err) {
    struct kueue_config c = {.settings = *queue_settings_defaults()};
    struct config_reader r = {.c = &c, .err = err};
    arena_init(&c.arena, 64 << 20);
    int code = read_document(&r, text);
    if (code != 0) {
        kueue_config_release(&c);
        return code;
    }
    *ret = c;
    return 0;
}

void kueue_config_release(struct kueue_config *c) {
    arena_release(&c->arena);
    *c = (struct kueue_config){0};
}

/* manifest: the options of the manifests, and texts filled from them. See manifest.h. */
#include "api/manifests/manifest.h"

static void fill_args(struct buf *out, const struct manifest_options *o) {
    if (o->webhooks) {
        buf_c(out, "        - --webhook=0.0.0.0:9443\n");
    }
    if (o->config.n) {
        buf_c(out, "        - --config=/etc/berth/config.yaml\n");
    }
    if (o->controllers.n) {
        buf_f(out, "        - --controllers=%.*s\n", STR_ARG(o->controllers));
    }
}

static void fill_mounts(struct buf *out, const struct manifest_options *o) {
    if (o->config.n) {
        buf_c(out, "        volumeMounts:\n"
                   "        - {name: config, mountPath: /etc/berth, readOnly: true}\n"
                   "      volumes:\n"
                   "      - name: config\n"
                   "        configMap: {name: berth-config}\n");
    }
}

static void fill_ingress(struct buf *out, const struct manifest_options *o) {
    if (o->webhooks) {
        buf_c(out, "  # Webhooks: the API server is no pod, so it cannot be named here.\n"
                   "  - ports:\n"
                   "    - {protocol: TCP, port: 9443}\n");
    }
}

static void fill_config(struct buf *out, const struct manifest_options *o) {
    if (o->chart) {
        buf_str(out, o->config);
    } else {
        buf_json(out, o->config);
    }
}

static void fill_one(struct buf *out, struct str name, const struct manifest_options *o) {
    if (str_is(name, "ns")) {
        buf_str(out, o->ns);
    } else if (str_is(name, "image")) {
        buf_str(out, o->image);
    } else if (str_is(name, "replicas")) {
        buf_str(out, o->replicas);
    } else if (str_is(name, "config")) {
        fill_config(out, o);
    } else if (str_is(name, "args")) {
        fill_args(out, o);
    } else if (str_is(name, "ports")) {
        buf_c(out, o->webhooks ? "        - {name: webhook, containerPort: 9443}\n" : "");
    } else if (str_is(name, "mounts")) {
        fill_mounts(out, o);
    } else if (str_is(name, "ingress")) {
        fill_ingress(out, o);
    }
}

void manifest_fill(struct buf *out, const char *text, const struct manifest_options *o) {
    struct str rest = str_of(text);
    for (ptrdiff_t at; (at = str_find(rest, '@')) >= 0;) {
        buf_str(out, str_head(rest, (size_t)at));
        rest = str_skip(rest, (size_t)at + 1);
        ptrdiff_t end = str_find(rest, '@');
        if (end < 0) {
            break;
        }
        fill_one(out, str_head(rest, (size_t)end), o);
        rest = str_skip(rest, (size_t)end + 1);
    }
    buf_str(out, rest);
}

void manifest_defaults(struct manifest_options *o) {
    *o = (struct manifest_options){
        .ns = STR("berth-system"),
        .image = STR("berth:" BERTH_VERSION),
        .replicas = STR("3"),
        .webhooks = true,
    };
}

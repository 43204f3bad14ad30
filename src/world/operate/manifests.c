/*
 * manifests: `berth manifests`: what a cluster needs in order to run Berth, printed, or written as a Helm chart.
 * Nothing is sent anywhere; only `flavors` asks a cluster, for its nodes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/manifests/manifest.h"
#include "base/limits.h"
#include "cli/kit/kit.h"
#include "kube/file.h"
#include "world/kit/verbs.h"
#include "world/operate/flavors.h"

enum { OUT_MAX = 64 << 20, PATH_BYTES_MAX = 4096, REPLICAS_MAX = 99 };

typedef int manifest_write(const struct manifest_options *o, struct buf *out, struct err *err);

/* ---- options ---- */

static int read_config(struct cli *c, struct manifest_options *o) {
    const char *file = cli_value(&c->args, "config");
    if (file == NULL) {
        return CLI_OK;
    }
    if (kube_file_read(&c->arena, file, LIMIT_OBJECT_BYTES / 2, &o->config, &c->err) != 0) {
        err_wrap(&c->err, "--config");
        return cli_fail(c, NULL);
    }
    return CLI_OK;
}

static bool is_plain(const char *s) {
    return s[0] && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             ".,-_/:@") == strlen(s);
}

static int read_text(struct cli *c, const char *name, struct str *ret) {
    const char *v = cli_value(&c->args, name);
    if (v && !is_plain(v)) {
        return cli_usage(c, "--%s: \"%s\": expected letters, digits and .,-_/:@", name, v);
    }
    *ret = v ? str_of(v) : *ret;
    return CLI_OK;
}

static int read_options(struct cli *c, bool webhooks, struct manifest_options *o) {
    const char *n = cli_value(&c->args, "replicas"), *w = cli_value(&c->args, "webhooks");
    uint64_t replicas;
    manifest_defaults(o);
    o->webhooks = w ? strcmp(w, "yes") == 0 : webhooks;
    if (n && (!str_to_u64(str_of(n), &replicas) || replicas < 1 || replicas > REPLICAS_MAX)) {
        return cli_usage(c, "--replicas: \"%s\": expected a number from 1 to %d", n, REPLICAS_MAX);
    }
    o->replicas = n ? str_of(n) : o->replicas;
    int r = read_text(c, "project", &o->ns);
    r = r ? r : read_text(c, "namespace", &o->ns);
    r = r ? r : read_text(c, "image", &o->image);
    r = r ? r : read_text(c, "controllers", &o->controllers);
    return r ? r : read_config(c, o);
}

/* ---- parts ---- */

static int write_namespace(const struct manifest_options *o, struct buf *out, struct err *err) {
    manifest_fill(out,
                  "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: @ns@\n  labels:\n"
                  "    app.kubernetes.io/name: berth\n"
                  "    pod-security.kubernetes.io/enforce: restricted\n"
                  "    pod-security.kubernetes.io/warn: restricted\n",
                  o);
    return 0;
}

static int write_all(const struct manifest_options *o, struct buf *out, struct err *err) {
    static manifest_write *const order[] = {write_namespace, manifest_crds, manifest_rbac,
                                            manifest_deploy};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(order) / sizeof(order[0]); i++) {
        r = order[i](o, out, err);
    }
    return r;
}

static const struct part {
    const char *name;
    manifest_write *write;
    bool webhooks; /* unless --webhooks says otherwise */
} parts[] = {
    {"crds", manifest_crds, false}, {"serving", manifest_serving, false},
    {"rbac", manifest_rbac, true},  {"deploy", manifest_deploy, true},
    {"all", write_all, true},
};

static int print(struct cli *c, const struct part *p) {
    struct manifest_options o;
    struct buf out;
    int code = read_options(c, p->webhooks, &o);
    if (code != CLI_OK) {
        return code;
    }
    buf_init(&out, OUT_MAX);
    int r = p->write(&o, &out, &c->err);
    if (r == 0 && (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0)) {
        r = err_sys(&c->err, errno, "standard output");
    }
    buf_release(&out);
    return r ? cli_fail(c, NULL) : CLI_OK;
}

/* ---- the chart ---- */

static const char chart_yaml[] =
    "apiVersion: v2\n"
    "name: berth\n"
    "description: GPUs by quota, queue and booking, with Kueue's objects\n"
    "type: application\n"
    "version: " BERTH_VERSION "\n"
    "appVersion: \"" BERTH_VERSION "\"\n"
    "kubeVersion: \">=1.30.0-0\"\n";

static const char values_yaml[] = "# The image to run; deploy/image makes one.\n"
                                  "image: berth:" BERTH_VERSION "\n"
                                  "# One of them leads, the others stand by and serve webhooks.\n"
                                  "replicas: 3\n"
                                  "# Which controllers run; as berth operate --controllers.\n"
                                  "controllers: all\n"
                                  "# Kueue's Configuration.\n"
                                  "configuration: |\n"
                                  "  apiVersion: config.kueue.x-k8s.io/v1beta2\n"
                                  "  kind: Configuration\n";

static int write_file(struct cli *c, const char *dir, const char *name, struct str text) {
    char path[PATH_BYTES_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path) {
        return err_set(&c->err, ERR_BAD_REQUEST, "the path of the chart is too long");
    }
    FILE *f = fopen(path, "we");
    if (f == NULL) {
        return err_sys(&c->err, errno, "%s", path);
    }
    bool good = fwrite(text.p, 1, text.n, f) == text.n;
    good = fclose(f) == 0 && good;
    return good ? 0 : err_sys(&c->err, errno, "%s", path);
}

static int make_folder(struct cli *c, const char *dir, const char *name) {
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s%s%s", dir, *name ? "/" : "", name);
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : err_sys(&c->err, errno, "%s", path);
}

static int write_chart(struct cli *c) {
    static const struct {
        const char *file;
        manifest_write *write;
    } templates[] = {
        {"templates/crds.yaml", manifest_crds},
        {"templates/rbac.yaml", manifest_rbac},
        {"templates/deploy.yaml", manifest_deploy},
    };
    const struct manifest_options o = {
        .ns = STR("{{ .Release.Namespace }}"),
        .image = STR("{{ .Values.image }}"),
        .replicas = STR("{{ .Values.replicas }}"),
        .config = STR("{{ .Values.configuration | quote }}"),
        .controllers = STR("{{ .Values.controllers }}"),
        .webhooks = true,
        .chart = true,
    };
    const char *dir = c->args.n_args > 1 ? c->args.args[1] : NULL;
    if (dir == NULL) {
        return cli_usage(c, "chart: expected the folder to write to: berth manifests chart DIR");
    }
    struct buf out;
    buf_init(&out, OUT_MAX);
    int r = make_folder(c, dir, "");
    r = r ? r : make_folder(c, dir, "templates");
    r = r ? r : write_file(c, dir, "Chart.yaml", str_of(chart_yaml));
    r = r ? r : write_file(c, dir, "values.yaml", str_of(values_yaml));
    for (size_t i = 0; r == 0 && i < sizeof(templates) / sizeof(templates[0]); i++) {
        buf_reset(&out);
        r = templates[i].write(&o, &out, &c->err);
        r = r ? r : write_file(c, dir, templates[i].file, buf_view(&out));
    }
    buf_release(&out);
    return r ? cli_fail(c, NULL) : CLI_OK;
}

/* ---- the verb ---- */

static int run(struct cli *c) {
    const char *what = c->args.args[0];
    if (strcmp(what, "chart") == 0) {
        return write_chart(c);
    }
    if (strcmp(what, "flavors") == 0 && c->args.n_args == 1) {
        return flavors_run(c);
    }
    if (c->args.n_args > 1) {
        return cli_usage(c, "\"%s\": one part is expected", c->args.args[1]);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(what, parts[i].name) == 0) {
            return print(c, &parts[i]);
        }
    }
    return cli_usage(c, "\"%s\": expected crds, serving, rbac, deploy, all, chart or flavors",
                     what);
}

static const char *const yes_no[] = {"yes", "no", NULL};

static const struct cli_option options[] = {
    {"image", 0, "NAME", "the image to run; else berth:" BERTH_VERSION, NULL, false},
    {"replicas", 0, "N", "how many run, one of which leads; else 3", NULL, false},
    {"config", 0, "FILE", "Kueue's Configuration, put into a ConfigMap", NULL, false},
    {"controllers", 0, "SET", "given to berth operate; else its default", NULL, false},
    {"webhooks", 0, "yes|no", "admission and v1beta1; else no for crds, yes otherwise", yes_no,
     false},
};

const struct cli_verb world_manifests = {
    .name = "manifests",
    .group = GROUP_MACHINE,
    .arguments = "PART [DIR]",
    .summary = "print what a cluster needs in order to run Berth",
    .about =
        "Prints YAML for kubectl apply, for the namespace given with -n (else berth-system). "
        "PART is\n"
        "crds (the kinds), serving (KServe's kinds, where it is not installed), rbac (what Berth "
        "may do),\ndeploy (the program and its webhooks), all,\n"
        "chart (all, as a Helm chart written to the folder DIR), or flavors (a ResourceFlavor "
        "for each GPU product\n"
        "of the cluster's nodes, the only part that asks a server).",
    .examples =
        "  berth manifests all | kubectl apply -f -\n"
        "  berth manifests deploy --image registry.example.com/berth:0.1.0 --replicas 1\n"
        "  berth manifests chart berth-chart && helm install berth berth-chart -n berth-system\n"
        "  berth manifests flavors\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};

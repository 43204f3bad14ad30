/*
 * manifests: `berth manifests`: what a cluster needs in order to run Berth, printed; nothing is sent anywhere.
 */
#include <stdio.h>
#include <string.h>

#include "api/manifest.h"
#include "cli/cli_int.h"
#include "world/verbs.h"

enum { OUT_MAX = 64 << 20 };

static const struct part {
    const char *name;
    int (*write)(const struct manifest_options *o, struct buf *out, struct err *err);
} parts[] = {{"crds", manifest_crds}};

static int print(struct cli *c, const struct part *p, const struct manifest_options *o) {
    struct buf out;
    buf_init(&out, OUT_MAX);
    int r = p->write(o, &out, &c->err);
    if (r == 0 && fwrite(out.p, 1, out.n, stdout) != out.n) {
        r = err_set(&c->err, ERR_UNAVAILABLE, "standard output: the text could not be written");
    }
    buf_release(&out);
    return r ? cli_fail(c, NULL) : CLI_OK;
}

static int run(struct cli *c) {
    struct manifest_options o;
    manifest_defaults(&o);
    o.webhooks = false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(c->args.args[0], parts[i].name) == 0) {
            return print(c, &parts[i], &o);
        }
    }
    return cli_usage(c, "\"%s\": expected crds", c->args.args[0]);
}

const struct cli_verb world_manifests = {
    .name = "manifests",
    .group = GROUP_MACHINE,
    .arguments = "PART",
    .summary = "print what a cluster needs in order to run Berth",
    .about = "Prints YAML for kubectl apply. PART is crds: the kinds of Berth and Kueue.",
    .examples = "  berth manifests crds | kubectl apply --server-side -f -\n",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};

/*
 * manifest: what a cluster needs in order to run Berth, printed as YAML: `berth manifests`.
 *
 * CustomResourceDefinitions come from the field tables, permissions and webhooks from tables of their own, so what is
 * installed cannot drift from what the program reads. Texts may be Helm expressions ("{{ .Values.image }}"): they are
 * put where they belong without being looked at, and so the chart is these very manifests.
 */
#ifndef BERTH_API_MANIFEST_H
#define BERTH_API_MANIFEST_H

#include "base/buf.h"
#include "base/err.h"

struct manifest_options {
    struct str ns; /* where Berth runs */
    struct str image;
    struct str replicas;    /* "3" */
    struct str config;      /* text of Kueue's Configuration; empty: none is given */
    struct str controllers; /* as for --controllers; empty: its default */
    bool webhooks;          /* with them v1beta1 is served, converted by Berth */
    bool chart; /* the texts are Helm expressions, and definitions outlive their release */
};
/* berth-system, the image of this version, 3 replicas, webhooks. */
void manifest_defaults(struct manifest_options *o);

/* Each appends YAML documents, every one begun by "---". 0, ERR_NOMEM. */
int manifest_crds(const struct manifest_options *o, struct buf *out, struct err *err);
/* The definitions of KServe's kinds and the rights to act on them, for clusters on which it is not installed. Their
 * label app.kubernetes.io/name: berth says that they are Berth's to act on. */
int manifest_serving(const struct manifest_options *o, struct buf *out, struct err *err);
int manifest_rbac(const struct manifest_options *o, struct buf *out, struct err *err);
int manifest_deploy(const struct manifest_options *o, struct buf *out, struct err *err);

void manifest_serving_role(const struct manifest_options *o, struct buf *out);
/* For the files that print: whether a cluster gets a definition of the kind from us. */
struct kind;
bool manifest_defines(const struct kind *k);
/* For the files that print: text with @ns@, @image@, @replicas@, @config@ and @args@ put in. */
void manifest_fill(struct buf *out, const char *text, const struct manifest_options *o);

#endif

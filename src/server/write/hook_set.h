/*
 * hook_set (server): webhook configurations, compiled: whom to ask about what. Internal to hooks.
 *
 * Sets are shared by reference: a question under way keeps the one that it was asked by, also when its configuration
 * is gone.
 */
#ifndef BERTH_SERVER_HOOK_SET_H
#define BERTH_SERVER_HOOK_SET_H

#include "api/selector.h"
#include "net/http_client.h"
#include "server/write/pipeline.h"

struct hook_set;

struct hook {
    struct hook_set *set;
    struct str name;
    yyjson_val *tree;
    struct selector namespaces, objects;
    bool equivalent, ignore, again; /* matchPolicy, failurePolicy, reinvocationPolicy */
    int64_t timeout_s;
    struct http_client *client; /* NULL: none yet */
    struct str origin;          /* of a Service, that the client is for; in mem */
};

struct hook_set {
    size_t refs;
    struct arena arena;
    struct loop *loop;
    struct str name;
    uint64_t rv;
    struct hook *v;
    size_t n;
    struct http_client **retired; /* clients of Services that moved */
    size_t n_retired, cap_retired;
};

/* 0 and a set with one reference. ERR_NOMEM; webhooks that cannot be read are left out. */
int hook_set_new(struct loop *l, const struct object *o, struct hook_set **ret);
/* The same with one hook: the conversion webhook of a CustomResourceDefinition; its tree is spec.conversion.webhook. */
int hook_set_of_conversion(struct loop *l, const struct object *o, struct hook_set **ret);
struct hook_set *hook_set_ref(struct hook_set *s);
void hook_set_unref(struct hook_set *s); /* clients go at the end of the loop's turn */

/* What is asked about. */
struct hook_match {
    const struct kind *kind;
    struct str version; /* of the request */
    struct str subresource, operation;
    const struct str_map *namespace_labels;    /* NULL: not of a namespace */
    const struct str_map *labels, *old_labels; /* NULL: there is no such object */
};
/* Whether it is to be asked; *ret_version: the version in which it wants the objects. */
bool hook_matches(const struct hook *h, const struct hook_match *m,
                  const struct kind_version **ret_version);

/* The client and the URL to ask at; texts in a. ERR_NOT_FOUND: the Service cannot be resolved. */
int hook_target(struct hook *h, struct mirror *m, struct arena *a, struct http_client **ret,
                struct str *ret_url, struct err *err);

#endif

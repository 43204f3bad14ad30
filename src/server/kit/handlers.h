/* handlers (server): what the router calls for a request that may be answered; each ends the call,
 * now or later. */
#ifndef BERTH_SERVER_HANDLERS_H
#define BERTH_SERVER_HANDLERS_H

#include "server/kit/context.h"
#include "server/kit/render.h"

struct prom;

/* route.c: classification, guard, limits, dispatch. */
void route_request(void *ctx, struct http_request *r);
void route_again(struct call *c);                   /* a read that waited */
bool route_head(void *ctx, struct http_request *r); /* http_server_options.head */
/* c->arena renderer for the request's kind, version and representation. */
struct render call_render(struct call *c);
/* One object as the answer. */
void call_object(struct call *c, int http, const struct object *o);

/* read.c */
void read_get(struct call *c);
void read_list(struct call *c);
/* write_http.c */
void write_request(struct call *c);
int write_body_type(struct call *c,
                    enum body_type *ret); /* of the body of a write; the failure is filled */
/* sweep.c */
void write_collection(struct call *c);
/* subresource.c: everything with a subresource but status; false when it is not one of ours. */
bool subresource_request(struct call *c);
void review_request(struct call *c);
/* watch.c */
int watch_init(struct server *s, struct err *err);
void watch_release(struct server *s);
void watch_stop_all(struct server *s);
void watch_stop_kind(struct server *s, const struct kind *k); /* it is served no more */
void watch_request(struct call *c);
/* Whether the options of a watch go together; *ret_rv: the revision that it names, or 0. */
int watch_check_options(struct call *c, uint64_t *ret_rv);
/* How long it lasts, in seconds. */
int64_t watch_seconds(struct call *c);
/* An ERROR event. */
void watch_send_error(struct call *c, const struct failure *f);
size_t watch_count(const struct server *s);
/* scrape.c: a registry of ours, then that of the outer world, as Prometheus text */
void scrape_request(struct call *c, struct prom *ours);

/* streams.c: all streams under way, of which those that lose their right are cut */
int streams_init(struct server *s, struct err *err);
void streams_release(struct server *s);
void streams_add(struct call *c);
void streams_remove(struct call *c); /* no-op when it is not there */
/* virtual.c: kinds that are computed when asked for */
void virtual_request(struct call *c);
/* scale.c */
void scale_request(struct call *c);
/* podlog.c */
void podlog_request(struct call *c);
/* talk.c: pods/exec, pods/attach, pods/portforward */
void talk_request(struct call *c);
int talk_init(struct server *s, struct err *err);
void talk_release(struct server *s);
void talk_stop_all(struct server *s);
/* hooks.c: 0, or a webhook would have to be asked about the session first, which is not done: the failure is filled */
int hooks_connect(struct call *c);
/* Whether the session that a request opened may go on: what else it took than the request's own verb. */
bool talk_still_may(struct call *c, const struct api_request *q, struct arena *a);
/* discovery.c: false when the path is none of discovery's. */
bool discovery_request(struct call *c, struct str path);
/* openapi.c */
bool openapi_request(struct call *c, struct str path);
void openapi_release(struct server *s);
/* health.c: version, health, metrics. */
bool health_request(struct call *c, struct str path);
int health_init(struct server *s, struct err *err);
void health_release(struct server *s);
struct prom *health_prom(struct server *s); /* what /metrics tells of the server */
void health_count(struct server *s, const struct call *c, int http);
/* writer.c */
int writer_init(struct server *s, struct err *err);
void writer_release(struct server *s);

#endif

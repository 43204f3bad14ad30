/*
 * negotiate (server): media types of answers (Accept) and of bodies (Content-Type). Pure.
 *
 * Quality values are ignored, as upstream clients never rely on them: the first acceptable entry wins. An entry that
 * asks for protobuf is skipped where there is none: of custom and computed kinds, tables and PartialObjectMetadata.
 */
#ifndef BERTH_SERVER_NEGOTIATE_H
#define BERTH_SERVER_NEGOTIATE_H

#include "base/err.h"
#include "base/str.h"

enum shape {
    SHAPE_OBJECT,    /* the object or list itself */
    SHAPE_TABLE,     /* meta.k8s.io Table */
    SHAPE_METADATA,  /* PartialObjectMetadata, or its List */
    SHAPE_DISCOVERY, /* APIGroupDiscoveryList, on /api and /apis only */
};

struct media {
    enum shape shape;
    bool v1beta1; /* of meta.k8s.io, for tables and metadata; of discovery: v2beta1 */
    bool yaml, protobuf;
};

enum {
    ACCEPT_SHAPES = 1 << 0, /* Table, PartialObjectMetadata */
    ACCEPT_DISCOVERY = 1 << 1,
    ACCEPT_PROTOBUF = 1 << 2, /* of objects and their lists */
};

/* ERR_NOT_ACCEPTABLE with the accepted types in the text. An absent header is JSON. */
int negotiate_accept(struct str accept, unsigned allowed, struct media *ret, struct err *err);

enum body_type {
    BODY_JSON,
    BODY_YAML,
    BODY_PROTOBUF,
    BODY_JSON_PATCH,
    BODY_MERGE_PATCH,
    BODY_STRATEGIC_PATCH,
    BODY_APPLY_PATCH,
};

/* Of POST, PUT, DELETE: JSON, YAML, protobuf; absent means JSON. ERR_MEDIA_TYPE. */
int negotiate_body(struct str content_type, enum body_type *ret, struct err *err);
/* Of PATCH; custom kinds take no strategic merge. ERR_MEDIA_TYPE. */
int negotiate_patch(struct str content_type, bool custom, enum body_type *ret, struct err *err);

/* True when one of the comma-separated entity tags of If-None-Match is `etag` (quotes included),
 * or it is "*". */
bool negotiate_etag(struct str if_none_match, struct str etag);

#endif

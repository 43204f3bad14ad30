/*
 * image_hosts: which registries images may be pulled from, as `--image-registries` says it.
 *
 *     docker.io,*.example.org:5000,!evil.example.org
 *
 * An entry is the host of an image's whole name (image_name.h): with a port that one alone, without any port; "*."
 * stands for one label or more before the rest. "!" in front refuses. A host is allowed when no entry refuses it and
 * one allows it, or none allows any. No list: any host. What is here already, loaded, built or pulled before, is not
 * asked about.
 */
#ifndef BERTH_NODE_IMAGE_HOSTS_H
#define BERTH_NODE_IMAGE_HOSTS_H

#include "base/err.h"
#include "base/str.h"

enum { IMAGE_HOSTS_MAX = 4096 }; /* characters of a list */

/* ERR_BAD_REQUEST names the entry that is none. */
int image_hosts_check(struct str list, struct err *err);
/* Of a list that was checked. ERR_FORBIDDEN, with a text for who wants the image. */
int image_hosts_allow(struct str list, struct str host, struct err *err);

#endif

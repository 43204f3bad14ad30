/*
 * image_hosts: the registries from which images may be pulled, from `--image-registries`.
 *
 *     docker.io,*.example.org:5000,!evil.example.org
 *
 * An entry is the host part of a full image name (image_name.h), in any case. With a port it matches that port, without
 * one any port; "*." matches one or more labels; a leading "!" refuses. A host is allowed if no entry refuses it, and
 * either an entry allows it or the list has no allowing entry. Without a list every host is allowed. Images that
 * are already on the machine (loaded, built, or pulled before) are not checked.
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

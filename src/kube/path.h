/* path (kube): URLs of API resources. */
#ifndef BERTH_KUBE_PATH_H
#define BERTH_KUBE_PATH_H

#include "api/schema/kind.h"
#include "base/buf.h"

/* "/api/v1/namespaces/NS/pods/NAME/log". ns, name, subresource may be empty; all are percent-encoded. */
void kube_path(struct buf *out, struct str api_version, struct str plural, struct str ns,
               struct str name, struct str subresource);
/* The same of a kind, in its storage version. */
void kube_kind_path(struct buf *out, const struct kind *k, struct str ns, struct str name,
                    struct str subresource);
/* "?key=value", or "&key=value" when there is a query already. */
void kube_query(struct buf *out, const char *key, struct str value);
void kube_encode(struct buf *out, struct str s);

#endif

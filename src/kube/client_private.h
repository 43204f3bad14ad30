/* client_private: the client's loop, for the other files of kube. */
#ifndef BERTH_KUBE_CLIENT_PRIVATE_H
#define BERTH_KUBE_CLIENT_PRIVATE_H

#include "kube/client.h"

struct loop *kube_client_loop(const struct kube_client *c);

#endif

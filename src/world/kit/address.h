/* address: "127.0.0.1:6443" or "[::1]:6443" to its parts. Numeric only: a listener never asks a resolver. */
#ifndef BERTH_WORLD_ADDRESS_H
#define BERTH_WORLD_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct address {
    char host[64]; /* without brackets */
    uint16_t port; /* 0: any free one */
    bool loopback;
};

/* ERR_BAD_REQUEST naming the option and what was expected. */
int address_parse(const char *option, const char *text, struct address *ret, struct err *err);

#endif

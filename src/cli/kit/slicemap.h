/*
 * slicemap: one GPU drawn with characters: a line of what it does, a bar of its memory slices, and who holds them.
 *
 *     GPU 0  NVIDIA H200  43 %  56 C  310 W  52/141 GiB
 *     [aa bb|cccc|....|....]
 *       a  1g.18gb   team-a/train-x7k2p
 *
 * With colour each holder has a background; without, letters and dots alone. No I/O.
 */
#ifndef BERTH_CLI_SLICEMAP_H
#define BERTH_CLI_SLICEMAP_H

#include "api/inventory.h"
#include "base/buf.h"

/* Appends the name of a pod by its uid: "project/pod". */
typedef void slicemap_holder(void *ctx, struct str pod_uid, struct buf *out);

void slicemap_draw(const struct gpu_card *g, bool colour, slicemap_holder *holder, void *ctx,
                   struct buf *out);

#endif

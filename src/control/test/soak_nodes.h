/*
 * soak_nodes: the nodes of a soak test and their hands: what they report, how they break, and what becomes of the pods
 * on them. All of it at random, from the run's own numbers.
 */
#ifndef BERTH_CONTROL_SOAK_NODES_H
#define BERTH_CONTROL_SOAK_NODES_H

#include "control/test/soak_model.h"

/* The node as it is: its GPUs, what runs on them, whether it is ready. */
void soak_node_write(struct soak *s, int node);
void soak_gpu_set(struct soak *s, int node, int gpu, bool up);
void soak_node_break(
    struct soak *s); /* one of them: it is gone, not ready, half broken, or well again */
/* All GPUs are well, and some of the nodes there, the first among them. */
void soak_nodes_start(struct soak *s);
/* A second's work: pods start, end and go, and nodes report. */
void soak_hands(struct soak *s);

#endif

/*
 * board: what the simulated boards are. Rows restate what hardware prints: the profile's id is not
 * its query number, 3g takes four memory slices, 7g all eight.
 */
#include <stddef.h>

#include "sim.h"

/* query, id, compute slices, memory slices, instances, starts, MiB, SM, CE, DEC, ENC, JPG, OFA,
 * media */
static const struct sim_board boards[] = {
    {"8xh200",
     "NVIDIA H200",
     0x233510DE,
     8,
     8,
     9,
     143771,
     76000,
     700000,
     345,
     1980,
     3201,
     true,
     true,
     {{0, 19, 1, 1, 7, 0x7f, 16384, 16, 1, 1, 0, 1, 0, false, "MIG 1g.18gb"},
      {7, 20, 1, 1, 1, 0x7f, 16384, 16, 1, 1, 0, 1, 1, true, "MIG 1g.18gb+me"},
      {9, 15, 1, 2, 4, 0x55, 33024, 26, 1, 1, 0, 1, 0, false, "MIG 1g.35gb"},
      {1, 14, 2, 2, 3, 0x15, 33024, 32, 2, 2, 0, 2, 0, false, "MIG 2g.35gb"},
      {2, 9, 3, 4, 2, 0x11, 71168, 60, 3, 3, 0, 3, 0, false, "MIG 3g.71gb"},
      {3, 5, 4, 4, 1, 0x01, 71168, 64, 4, 4, 0, 4, 0, false, "MIG 4g.71gb"},
      {4, 0, 7, 8, 1, 0x01, 143360, 132, 8, 7, 0, 7, 1, false, "MIG 7g.141gb"}}},
    {"4xa100-80gb",
     "NVIDIA A100-SXM4-80GB",
     0x20B210DE,
     4,
     8,
     8,
     81920,
     55000,
     400000,
     210,
     1410,
     1593,
     false,
     false,
     {{0, 19, 1, 1, 7, 0x7f, 9728, 14, 1, 0, 0, 0, 0, false, "MIG 1g.10gb"},
      {7, 20, 1, 1, 1, 0x7f, 9728, 14, 1, 1, 0, 1, 1, true, "MIG 1g.10gb+me"},
      {9, 15, 1, 2, 4, 0x55, 19968, 14, 1, 1, 0, 0, 0, false, "MIG 1g.20gb"},
      {1, 14, 2, 2, 3, 0x15, 19968, 28, 2, 1, 0, 0, 0, false, "MIG 2g.20gb"},
      {2, 9, 3, 4, 2, 0x11, 40192, 42, 3, 2, 0, 0, 0, false, "MIG 3g.40gb"},
      {3, 5, 4, 4, 1, 0x01, 40192, 56, 4, 2, 0, 0, 0, false, "MIG 4g.40gb"},
      {4, 0, 7, 8, 1, 0x01, 80640, 98, 7, 5, 0, 1, 1, false, "MIG 7g.80gb"}}},
};

const struct sim_board *sim_board(const char *spec) {
    static struct sim_board one;

    if (spec && !strcmp(spec, "1xh200")) {
        one = boards[0];
        one.spec = "1xh200";
        one.gpus = 1;
        return &one;
    }
    for (size_t i = 0; spec && i < sizeof(boards) / sizeof(boards[0]); i++) {
        if (!strcmp(spec, boards[i].spec)) {
            return &boards[i];
        }
    }
    return NULL;
}

const struct sim_profile *sim_profile(const struct sim_board *b, unsigned id) {
    for (size_t i = 0; i < SIM_PROFILES; i++) {
        if (b->profiles[i].id == id) {
            return &b->profiles[i];
        }
    }
    return NULL;
}

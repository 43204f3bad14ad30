/* terminal: pseudo terminals for containers and commands. */
#ifndef BERTH_NODE_TERMINAL_H
#define BERTH_NODE_TERMINAL_H

#include <stdint.h>
#include <sys/types.h>

/* A terminal of a user (0: ours): our end, and the one for the process. `pod`: process 1 of the pod that it is for, in
 * whose /dev/pts it is; 0, or none there: the machine's. 0 or errno. */
int terminal_open(pid_t pod, int *ret_ours, int *ret_theirs, uid_t uid, gid_t gid);
void terminal_size(int fd, uint16_t rows, uint16_t cols);

#endif

/* image_files: what may lie on the machine of an image's files: no set-user-id programs, no devices, nothing that its
 * owner cannot remove. */
#ifndef BERTH_NODE_IMAGE_FILES_H
#define BERTH_NODE_IMAGE_FILES_H

#include "base/err.h"

/* Of the unpacked folder, which nobody changes meanwhile. Follows no links, enters no other file system. */
int image_files_tame(const char *root, struct err *err);

#endif

/*
 * cdi: the files of the GPUs' driver that a container in an image needs from the machine, by the specification that
 * the driver's tools write (Container Device Interface, /etc/cdi/nvidia.yaml).
 *
 * Only the files that all devices share are taken: libraries and programs. Device files are gpu_files.h's, which
 * gives a pod those of its own alone; hooks are programs of others, run as root, and are not run. What one of them
 * does, links like libcuda.so.1 to the library of its version, is done by giving the file under those names too.
 */
#ifndef BERTH_NODE_CDI_H
#define BERTH_NODE_CDI_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { CDI_FILES_MAX = 256 };

struct cdi_file {
    struct str source, target; /* absolute; source has no links on its way */
};

/* Of the first specification in `dirs` (NULL-terminated; NULL: the usual ones) whose kind is nvidia.com/gpu. In the
 * arena. 0 with none when there is no specification; ERR_INVALID names the file that cannot be read as one. */
int cdi_read(const char *const *dirs, struct arena *a, struct cdi_file **ret, size_t *ret_n,
             struct err *err);
/* The folders of libraries among them, "a:b". */
struct str cdi_library_path(const struct cdi_file *v, size_t n, struct arena *a);

#endif

/*
 * fuzz/main: replays a corpus through a target, with an ordinary compiler and without libFuzzer.
 *
 *     fuzz-json FILE-OR-FOLDER...
 *
 * Each file goes through whole, and cut short after every byte up to 64 and then at some lengths, so that a corpus of a
 * few files meets many ends of input.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static size_t runs;

static void run(const uint8_t *data, size_t n) {
    uint8_t *copy =
        malloc(n ? n : 1); /* of just this size, so that the sanitizer sees a read beyond it */
    if (copy == NULL) {
        abort();
    }
    if (n) {
        memcpy(copy, data, n);
    }
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
    runs++;
}

static int replay_file(const char *path) {
    static uint8_t data[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, data, sizeof(data)) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        perror(path);
        return 1;
    }
    for (size_t cut = 0; cut < (size_t)n; cut += cut < 64 ? 1 : 1 + (size_t)n / 16) {
        run(data, cut);
    }
    run(data, (size_t)n);
    return 0;
}

static int replay(const char *path) {
    struct stat st;
    int bad = 0;
    if (stat(path, &st) != 0) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(st.st_mode)) {
        return replay_file(path);
    }
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char file[4096];
        int n = snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && n > 0 && n < (int)sizeof(file)) {
            bad |= replay_file(file);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return bad || dir == NULL;
}

int main(int argc, char **argv) {
    int bad = argc < 2;
    for (int i = 1; i < argc; i++) {
        bad |= replay(argv[i]);
    }
    printf("%zu runs\n", runs);
    return bad || runs == 0;
}

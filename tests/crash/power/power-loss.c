/* Keeps what a loss of power would leave. At each fsync and fdatasync of a regular file it copies what the file then
   holds to POWER_LOSS_FOLDER, under its inode number, instead of syncing. Loaded with LD_PRELOAD. Names, renames and
   removals count as durable, so directories are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy(int from, int to) {
  static _Thread_local char block[1 << 16];
  for (off_t at = 0;;) {
    ssize_t count = pread(from, block, sizeof block, at);
    if (count < 0) return -1;
    if (count == 0) return 0;
    if (pwrite(to, block, (size_t)count, at) != count) return -1;
    at += count;
  }
}

/* Another descriptor is opened only for files that cannot be read through theirs: SQLite's can, and closing a second
   descriptor of such a file would release its locks. */
static int keep(int file) {
  const char *folder = getenv("POWER_LOSS_FOLDER");
  struct stat what;
  if (!folder || fstat(file, &what) != 0 || !S_ISREG(what.st_mode)) return 0;
  char lock_name[4096], made_name[4096], name[4096], self[64];
  snprintf(lock_name, sizeof lock_name, "%s/lock", folder);
  snprintf(made_name, sizeof made_name, "%s/made", folder);
  snprintf(name, sizeof name, "%s/%llu", folder, (unsigned long long)what.st_ino);
  /* One at a time, over all processes: an older copy must not replace a newer one. */
  int lock = open(lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0 || flock(lock, LOCK_EX) != 0) return -1;
  int from = file;
  if ((fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY) {
    snprintf(self, sizeof self, "/proc/self/fd/%d", file);
    from = open(self, O_RDONLY | O_CLOEXEC);
  }
  int made = open(made_name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int result = from < 0 || made < 0 ? -1 : copy(from, made);
  if (result == 0) result = rename(made_name, name);
  if (made >= 0) close(made);
  if (from >= 0 && from != file) close(from);
  close(lock);
  if (result != 0) errno = EIO;
  return result;
}

/* Its number may go to another file. */
int unlink(const char *path) {
  int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
  const char *folder = getenv("POWER_LOSS_FOLDER");
  struct stat what;
  if (folder && lstat(path, &what) == 0 && S_ISREG(what.st_mode) && what.st_nlink == 1) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%llu", folder, (unsigned long long)what.st_ino);
    real(name);
  }
  return real(path);
}

int fsync(int file) { return keep(file); }
int fdatasync(int file) { return keep(file); }

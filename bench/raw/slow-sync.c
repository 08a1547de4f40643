/* Slows fsync and fdatasync by SLOW_SYNC_US microseconds and counts them in the first four bytes of
   SLOW_SYNC_COUNT_FILE. Loaded with LD_PRELOAD by the bench's slow-disk scenario. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static uint32_t *count;
static long delay_us;

__attribute__((constructor)) static void begin(void) {
  real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  const char *delay = getenv("SLOW_SYNC_US");
  const char *path = getenv("SLOW_SYNC_COUNT_FILE");
  delay_us = delay ? atol(delay) : 0;
  if (!path) return;
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, 4096) != 0) return;
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) count = (uint32_t *)page;
  close(file);
}

static void note(void) {
  if (count) __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
  struct timespec delay = {delay_us / 1000000, (delay_us % 1000000) * 1000};
  nanosleep(&delay, 0);
}

int fsync(int file) {
  note();
  return real_fsync(file);
}

int fdatasync(int file) {
  note();
  return real_fdatasync(file);
}

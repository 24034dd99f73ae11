/* Preloaded into a process by test/support/stepped-clock.ts: its wall clock, off by the seconds in a file. libfaketime would do, but it
   cannot be loaded beside jemalloc. The monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  char text[32] = {0};
  long result = syscall(SYS_gettimeofday, now, zone);
  int file = open(getenv("CLOCK_OFFSET_FILE"), O_RDONLY);
  if (file >= 0) {
    if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
    close(file);
  }
  return (int)result;
}

// A library that scripts/test loads before a program's own libraries. LuaJIT makes its machine code writable for each
// trace that it compiles, and executable afterwards. On some virtual machines such a change takes 0.2 ms: the
// spec of the barrier library took 16 s instead of 2.4. With this library the code of the tests is executable and
// writable at the same time. Programs for users do not use it.

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMost = 4096 };

static struct {
  char* begin;
  size_t size;
} areas[kMost];  // of machine code
static int count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int mprotect(void* begin, size_t size, int protection) {
  const int code = (protection & PROT_EXEC) != 0;
  pthread_mutex_lock(&mutex);
  int known = 0;
  for (int i = 0; i < count && !known; ++i) known = areas[i].begin == begin && areas[i].size == size;
  if (code && !known && count < kMost) {
    areas[count].begin = begin;
    areas[count++].size = size;
    protection |= PROT_WRITE;
  }
  pthread_mutex_unlock(&mutex);
  if (known && (code || protection == (PROT_READ | PROT_WRITE))) return 0;
  return (int)syscall(SYS_mprotect, begin, size, protection);
}

int munmap(void* begin, size_t size) {
  const char* const end = (char*)begin + size;
  pthread_mutex_lock(&mutex);
  for (int i = count - 1; i >= 0; --i) {
    if (areas[i].begin < end && areas[i].begin + areas[i].size > (char*)begin) areas[i] = areas[--count];
  }
  pthread_mutex_unlock(&mutex);
  return (int)syscall(SYS_munmap, begin, size);
}

// A yardstick of simulator.lua: pBSP or BSP by hand, with a binary heap. Steps take 1 + Exp(1) s, and a waiting node
// draws again at each completion. Prints completed steps and seconds. Usage: simulator_loop NODES TIME bsp|pbsp
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kBeta = 10 };

static uint64_t state[2] = {0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u};
static int nodes, count, waiters;
static int *done, *waiting;
static struct Event {
  double at;
  int node;
} * heap;

static uint64_t draw(void) {
  uint64_t a = state[0];
  const uint64_t b = state[1];
  state[0] = b;
  a ^= a << 23;
  state[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
  return state[1] + b;
}

static double work(void) { return 1 - log(1 - (double)(draw() >> 11) / 9007199254740992.0); }

static void begin(int node, double now) {
  const double at = now + work();
  int i = ++count;
  for (; i > 1 && heap[i / 2].at > at; i /= 2) heap[i] = heap[i / 2];
  heap[i] = (struct Event){at, node};
}

static struct Event next(void) {
  const struct Event first = heap[1];
  const struct Event last = heap[count--];
  int i = 1;
  for (int child = 2; child <= count; child = 2 * i) {
    if (child < count && heap[child + 1].at < heap[child].at) ++child;
    if (heap[child].at >= last.at) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return first;
}

static int passes(int node) {
  for (int i = 0; i < kBeta; ++i) {
    if (done[(draw() >> 32) * (uint64_t)nodes >> 32] < done[node]) return 0;
  }
  return 1;
}

static void release(int bsp, double now) {
  if (bsp && waiters < nodes) return;
  int left = 0;
  for (int i = 0; i < waiters; ++i) {
    if (bsp || passes(waiting[i])) {
      begin(waiting[i], now);
    } else {
      waiting[left++] = waiting[i];
    }
  }
  waiters = left;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  nodes = atoi(argv[1]);
  const double until = atof(argv[2]);
  const int bsp = strcmp(argv[3], "bsp") == 0;
  done = calloc((size_t)nodes, sizeof *done);
  waiting = calloc((size_t)nodes, sizeof *waiting);
  heap = calloc((size_t)nodes + 2, sizeof *heap);
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (int i = 0; i < nodes; ++i) begin(i, 0);
  long steps = 0;
  for (struct Event e = next(); e.at < until; e = next()) {
    ++done[e.node];
    ++steps;
    waiting[waiters++] = e.node;
    release(bsp, e.at);
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("%ld %g\n", steps, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
  return 0;
}

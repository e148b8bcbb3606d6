/* The C interface (actorhost.h), used from C. Usage: test_c_api CASE; exit 0 if the case holds. */
#include <actorhost.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      fprintf(stderr, "line %d: %s does not hold; ah_error: %s\n", __LINE__, #condition, ah_error()); \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)

/* Each wait of a case ends after this many seconds. */
static const double kMost = 60;

static ah_host* start(ah_work work, const char* flags) {
  static char words[512];
  const char* list[16];
  size_t count = 0;
  snprintf(words, sizeof words, "%s", flags);
  for (char* word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) list[count++] = word;
  ah_host* host = ah_host_new();
  CHECK(host != NULL);
  const double begun = now();
  CHECK(ah_host_start(host, work, list, count) == AH_OK);
  CHECK(now() - begun < 5); /* it does not wait for the nodes */
  return host;
}

static ah_host* console(const char* flags) {
  static char words[512];
  snprintf(words, sizeof words, "--log-level error %s", flags);
  return start(AH_CONSOLE, words);
}

static ah_value number(double value) {
  ah_value out = {0};
  out.type = AH_NUMBER;
  out.number = value;
  return out;
}

static ah_value text(const char* value) {
  ah_value out = {0};
  out.type = AH_TEXT;
  out.text = value;
  out.size = strlen(value);
  return out;
}

static ah_call* call_with(ah_host* host, const char* source, const ah_value* arguments, size_t count) {
  ah_call* call = ah_call_new(host, source, "=test", arguments, count);
  CHECK(call != NULL);
  return call;
}

static ah_status finish(ah_call* call) { return ah_call_wait(call, kMost); }

static void values_of_each_node(void) {
  ah_host* host = console("-n 3");
  const ah_value arguments[] = {number(20), text("two words")};
  ah_call* call = call_with(host, "local n, s = ... return n + actor.rank, s, {1, 2, {x = true}}, nil", arguments, 2);
  CHECK(finish(call) == AH_OK);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    size_t count = 0;
    const ah_value* values = ah_call_values(call, rank, &count);
    CHECK(count == 4);
    CHECK(values[0].type == AH_NUMBER && values[0].number == 20 + rank);
    CHECK(values[1].type == AH_TEXT && values[1].size == 9 && strcmp(values[1].text, "two words") == 0);
    CHECK(values[2].type == AH_LIST && values[2].size == 3 && values[2].items[1].number == 2);
    const ah_value* map = &values[2].items[2];
    CHECK(map->type == AH_MAP && map->size == 1);
    CHECK(strcmp(map->items[0].text, "x") == 0 && map->items[1].type == AH_BOOLEAN && map->items[1].boolean == 1);
    CHECK(values[3].type == AH_NIL);
  }
  size_t count = 7;
  CHECK(ah_call_values(call, 3, &count) == NULL && count == 0);
  ah_call_free(call);
  ah_host_free(host);
}

static int released;

static void release(DLManagedTensor* self) {
  ++released;
  free(self->dl_tensor.shape);
  free(self);
}

static ah_value tensor(float* data, int64_t rows, int64_t columns, uint8_t code, uint8_t bits) {
  DLManagedTensor* managed = calloc(1, sizeof *managed);
  managed->dl_tensor.data = data;
  managed->dl_tensor.device.device_type = kDLCPU;
  managed->dl_tensor.ndim = 2;
  managed->dl_tensor.dtype.code = code;
  managed->dl_tensor.dtype.bits = bits;
  managed->dl_tensor.dtype.lanes = 1;
  managed->dl_tensor.shape = malloc(4 * sizeof(int64_t));
  managed->dl_tensor.shape[0] = rows;
  managed->dl_tensor.shape[1] = columns;
  managed->deleter = release;
  ah_value out = {0};
  out.type = AH_TENSOR;
  out.tensor = managed;
  return out;
}

static void tensors_share_memory(void) {
  ah_host* host = console("-n 1");
  float* data = malloc(6 * sizeof(float));
  for (int i = 0; i < 6; ++i) data[i] = (float)i;
  const ah_value argument = tensor(data, 2, 3, kDLFloat, 32);
  ah_call* call = call_with(host, "kept = ... kept[{2, 3}] = 50 return kept, kept:sum()", &argument, 1);
  CHECK(finish(call) == AH_OK);
  CHECK(data[5] == 50); /* Lua has written to this program's memory */
  size_t count = 0;
  ah_value* values = ah_call_values(call, 0, &count);
  CHECK(count == 2 && values[0].type == AH_TENSOR && values[1].number == 60);
  DLManagedTensor* back = values[0].tensor;
  CHECK(back->dl_tensor.data == data && back->dl_tensor.ndim == 2 && back->dl_tensor.shape[1] == 3);
  CHECK(back->dl_tensor.dtype.code == kDLFloat && back->dl_tensor.dtype.bits == 32 && back->dl_tensor.strides[0] == 3);
  values[0].tensor = NULL; /* kept beyond the call */
  ah_call_free(call);
  call = call_with(host, "kept = nil collectgarbage() collectgarbage()", NULL, 0);
  CHECK(finish(call) == AH_OK);
  ah_call_free(call);
  CHECK(released == 0); /* `back` has the elements */
  back->deleter(back);
  ah_host_free(host);
  CHECK(released == 1);
  free(data);
}

static void wrong_tensors(void) {
  ah_host* host = console("-n 1");
  float* data = calloc(6, sizeof(float));
  ah_value argument = tensor(data, 2, 3, kDLFloat, 16);
  CHECK(ah_call_new(host, "return ...", NULL, &argument, 1) == NULL);
  CHECK(strstr(ah_error(), "argument has elements of float16; expected float32, float64, int32") != NULL);
  argument = tensor(data, 3, 2, kDLFloat, 32);
  argument.tensor->dl_tensor.strides = argument.tensor->dl_tensor.shape + 2;
  argument.tensor->dl_tensor.strides[0] = 1;
  argument.tensor->dl_tensor.strides[1] = 3;
  const ah_value two[] = {number(1), argument};
  CHECK(ah_call_new(host, "return ...", NULL, two, 2) == NULL);
  CHECK(strstr(ah_error(), "argument 2 is not contiguous") != NULL);
  argument = tensor(data, 2, -3, kDLFloat, 32);
  CHECK(ah_call_new(host, "return ...", NULL, &argument, 1) == NULL);
  argument = tensor(data, 2, 3, kDLFloat, 32);
  argument.tensor->dl_tensor.device.device_type = (DLDeviceType)2;
  CHECK(ah_call_new(host, "return ...", NULL, &argument, 1) == NULL);
  CHECK(strstr(ah_error(), "another device than the CPU") != NULL);
  CHECK(released == 4); /* a refused tensor is released too */
  ah_value strange = {0};
  strange.type = 99;
  CHECK(ah_call_new(host, "return ...", NULL, &strange, 1) == NULL);
  CHECK(strstr(ah_error(), "the type 99") != NULL);
  ah_host_free(host);
  free(data);
}

static void errors_have_their_lines(void) {
  ah_host* host = console("-n 2");
  ah_call* call = call_with(host, "local x = 1\nerror('too much')", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "test:2: too much") != NULL);
  ah_call_free(call);
  call = call_with(host, "local x = = 1", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "test:1:") != NULL);
  ah_call_free(call);
  call = call_with(host, "1), (2", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "test:1:") != NULL);
  ah_call_free(call);
  call = call_with(host, "give", NULL, 0); /* no name that the library uses to load a chunk */
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "undefined global 'give'") != NULL);
  ah_call_free(call);
  call = call_with(host, "return {1, {f = print}}", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "value[2].f is a function") != NULL);
  ah_call_free(call);
  /* A failure on one node ends the waits of the others, and the next chunk works. */
  call =
      call_with(host, "if actor.rank == 1 then error('only here') end return actor.collective.allreduce(1)", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "only here") != NULL);
  ah_call_free(call);
  call = call_with(host, "print('seen') return actor.size", NULL, 0);
  CHECK(finish(call) == AH_OK);
  size_t size = 0;
  CHECK(strcmp(ah_call_output(call, &size), "seen\n") == 0 && size == 5);
  ah_call_free(call);
  ah_host_free(host);
}

#ifdef __SANITIZE_THREAD__ /* it delivers a signal at the next call of the C library */
#define ENDLESS "while true do os.time() end"
#else
#define ENDLESS "while true do end"
#endif

static void chunks_can_be_interrupted(void) {
  ah_host* host = console("-n 2");
  ah_call* call = call_with(host, ENDLESS, NULL, 0);
  CHECK(ah_call_wait(call, 0.3) == AH_PENDING);
  CHECK(ah_call_interrupt(call) == AH_OK);
  CHECK(finish(call) == AH_INTERRUPTED);
  ah_call_free(call);
  call = call_with(host, "return 1", NULL, 0);
  CHECK(finish(call) == AH_OK);
  ah_call_free(call);
  call = call_with(host, ENDLESS, NULL, 0);
  CHECK(ah_call_wait(call, 0.3) == AH_PENDING);
  ah_call_free(call); /* interrupts it */
  ah_host_free(host);
}

static void progress_is_a_line(void) {
  ah_host* host = console("-n 2");
  ah_call* call = call_with(host,
                            "local bar = actor.progress.new { total = 100, label = 'training' } bar:update(50) "
                            "while true do actor.sleep(0.01) end",
                            NULL, 0);
  const double end = now() + kMost;
  while (strstr(ah_host_progress(host), " 50 %") == NULL) CHECK(ah_call_wait(call, 0.02) == AH_PENDING && now() < end);
  CHECK(strstr(ah_host_progress(host), "training [") != NULL);
  CHECK(ah_call_interrupt(call) == AH_OK);
  CHECK(finish(call) == AH_INTERRUPTED);
  ah_call_free(call);
  ah_host_free(host);
}

static atomic_int further;

static void tell_further(void* data, ah_frame* frame, ah_value* arguments, size_t count) {
  (void)data, (void)arguments, (void)count;
  const ah_value value = number(further ? 70 : 50);
  CHECK(ah_return(frame, &value) == AH_OK);
}

static void* wait_for_further(void* data) {
  further = 1;
  const double end = now() + kMost;
  while (strstr(ah_host_progress(data), " 70 %") == NULL) CHECK(now() < end);
  return NULL;
}

static void each_thread_has_its_line_of_progress(void) {
  ah_host* host = ah_host_new();
  CHECK(ah_host_function(host, "percent", tell_further, NULL) == AH_OK);
  const char* flags[] = {"-n", "1", "--log-level", "error"};
  CHECK(ah_host_start(host, AH_CONSOLE, flags, 4) == AH_OK);
  ah_call* call = call_with(host,
                            "local bar = actor.progress.new { total = 100 } "
                            "while true do bar:update(require('host').percent()) actor.sleep(0.01) end",
                            NULL, 0);
  const double end = now() + kMost;
  while (strstr(ah_host_progress(host), " 50 %") == NULL) CHECK(ah_call_wait(call, 0.02) == AH_PENDING && now() < end);
  const char* line = ah_host_progress(host);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, wait_for_further, host) == 0 && pthread_join(thread, NULL) == 0);
  CHECK(strstr(line, " 50 %") != NULL);
  ah_call_free(call);
  ah_host_free(host);
}

static void add(void* data, ah_frame* frame, ah_value* arguments, size_t count) {
  if (count != 2 || arguments[0].type != AH_NUMBER) {
    ah_raise(frame, "add takes two numbers");
    return;
  }
  const ah_value sum = number(arguments[0].number + arguments[1].number + *(double*)data);
  CHECK(ah_return(frame, &sum) == AH_OK);
}

static void functions_of_the_program(void) {
  double base = 100;
  ah_host* host = ah_host_new();
  CHECK(ah_host_function(host, "add", add, &base) == AH_OK);
  const char* flags[] = {"-n", "2", "--log-level", "error"};
  CHECK(ah_host_start(host, AH_CONSOLE, flags, 4) == AH_OK);
  CHECK(ah_host_function(host, "late", add, &base) == AH_BAD_ARGUMENT);
  ah_call* call = call_with(host, "return require('host').add(actor.rank, 2)", NULL, 0);
  CHECK(finish(call) == AH_OK);
  size_t count = 0;
  CHECK(ah_call_values(call, 1, &count)->number == 103);
  ah_call_free(call);
  call = call_with(host, "\nlocal x = require('host').add('x')", NULL, 0);
  CHECK(finish(call) == AH_SCRIPT);
  CHECK(strstr(ah_error(), "test:2: add takes two numbers") != NULL);
  ah_call_free(call);
  ah_host_free(host);
}

/* Starts a job with this script, which is written to a new file at `path`. */
static ah_host* job(const char* source, char* path) {
  strcpy(path, "/tmp/actorhost_c_XXXXXX");
  const int file = mkstemp(path);
  CHECK(file >= 0 && write(file, source, strlen(source)) == (ssize_t)strlen(source));
  close(file);
  char flags[128];
  snprintf(flags, sizeof flags, "--log-level error -n 2 %s", path);
  return start(AH_JOB, flags);
}

static void a_busy_node_is_abandoned(void) {
  char path[64];
  ah_host* host =
      job("local actor = require('actor') local bar = actor.progress.new { total = 2, label = 'busy' } bar:update(1)\n"
          "while true do end\n",
          path);
  const double end = now() + kMost;
  while (strstr(ah_host_progress(host), "busy") == NULL)
    CHECK(ah_host_poll(host, 0.02, NULL) == AH_PENDING && now() < end);
  unlink(path);
  const double begun = now();
  ah_host_free(host);
  CHECK(now() - begun < 4);
}

static void jobs_end_with_their_exit_codes(void) {
  char path[64];
  ah_host* host = job("error('on purpose')\n", path);
  int code = 0;
  CHECK(ah_host_poll(host, kMost, &code) == AH_FAILED && code == 1);
  CHECK(strstr(ah_error(), "on purpose") != NULL);
  ah_host_free(host);
  unlink(path);
  host = start(AH_JOB, "-n 2 no_such_file.lua");
  CHECK(ah_host_poll(host, kMost, &code) == AH_FAILED && code == 2);
  CHECK(strstr(ah_error(), "no_such_file.lua") != NULL);
  ah_host_free(host);
  host = start(AH_JOB, "--no-such-flag job.lua");
  CHECK(ah_host_poll(host, kMost, &code) == AH_FAILED && code == 2);
  CHECK(strstr(ah_error(), "--no-such-flag") != NULL);
  ah_call* call = ah_call_new(host, "return 1", NULL, NULL, 0);
  CHECK(call != NULL && finish(call) == AH_BAD_ARGUMENT);
  ah_call_free(call);
  ah_host_free(host);
}

static void a_host_ends_its_calls(void) {
  ah_host* host = console("-n 2");
  ah_call* call = call_with(host, "while true do actor.sleep(0.1) end", NULL, 0);
  CHECK(ah_call_wait(call, 0.3) == AH_PENDING);
  CHECK(ah_host_poll(host, 0, NULL) == AH_PENDING);
  CHECK(ah_host_interrupt(host) == AH_OK);
  int code = 0;
  CHECK(ah_host_poll(host, kMost, &code) == AH_INTERRUPTED && code == 130);
  const ah_status status = finish(call);
  CHECK(status == AH_ENDED || status == AH_INTERRUPTED);
  ah_call_free(call);
  call = call_with(host, "return 1", NULL, 0);
  CHECK(finish(call) == AH_ENDED);
  ah_call_free(call);
  ah_host_free(host);
}

static void calls_outlive_their_host(void) {
  ah_host* host = console("-n 1");
  ah_call* call = call_with(host, "while true do actor.sleep(0.1) end", NULL, 0);
  CHECK(ah_call_wait(call, 0.3) == AH_PENDING);
  ah_host_free(host);
  const ah_status status = finish(call);
  CHECK(status == AH_ENDED || status == AH_INTERRUPTED);
  CHECK(ah_call_interrupt(call) == AH_OK);
  ah_call_free(call);
}

static void consoles_are_on_one_host(void) {
  ah_host* host = console("-n 1 --nnodes 2");
  int code = 0;
  CHECK(ah_host_poll(host, kMost, &code) == AH_FAILED && code == 2);
  CHECK(strstr(ah_error(), "--nnodes 2: a console's nodes are all on this host") != NULL);
  ah_host_free(host);
  host = console("-n 1 --nnodes 1");
  ah_call* call = call_with(host, "return 1", NULL, 0);
  CHECK(finish(call) == AH_OK);
  ah_call_free(call);
  ah_host_free(host);
}

static void a_fork_is_refused(void) {
  ah_host* host = console("-n 1");
  ah_call* call = call_with(host, "return 1", NULL, 0);
  CHECK(finish(call) == AH_OK);
  ah_call_free(call);
  const pid_t child = fork();
  if (child == 0) {
    const int right = ah_call_new(host, "return 1", NULL, NULL, 0) == NULL && strstr(ah_error(), "fork") != NULL &&
                      ah_host_poll(host, 1, NULL) == AH_FORKED && ah_host_interrupt(host) == AH_FORKED;
    ah_host_free(host);
    _exit(right ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  ah_host_free(host);
}

static void wrong_calls(void) {
  CHECK(ah_abi_version() == AH_ABI_VERSION && strlen(ah_version()) >= 5);
  CHECK(ah_host_start(NULL, AH_JOB, NULL, 0) == AH_BAD_ARGUMENT);
  ah_host* host = ah_host_new();
  CHECK(ah_host_poll(host, 0, NULL) == AH_BAD_ARGUMENT);
  CHECK(strstr(ah_error(), "ah_host_start") != NULL);
  CHECK(ah_host_start(host, (ah_work)9, NULL, 0) == AH_BAD_ARGUMENT);
  CHECK(ah_host_start(host, AH_JOB, NULL, 3) == AH_BAD_ARGUMENT);
  CHECK(ah_call_new(host, "return 1", NULL, NULL, 0) == NULL);
  CHECK(ah_host_function(host, NULL, add, NULL) == AH_BAD_ARGUMENT);
  CHECK(ah_call_wait(NULL, 0) == AH_BAD_ARGUMENT && ah_call_values(NULL, 0, NULL) == NULL);
  CHECK(ah_return(NULL, NULL) == AH_BAD_ARGUMENT);
  ah_raise(NULL, NULL);
  ah_call_free(NULL);
  ah_host_free(NULL);
  ah_host_free(host);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {
      {"values of each node", values_of_each_node},
      {"tensors share memory", tensors_share_memory},
      {"wrong tensors are refused", wrong_tensors},
      {"errors have their lines", errors_have_their_lines},
      {"chunks can be interrupted", chunks_can_be_interrupted},
      {"progress is a line", progress_is_a_line},
      {"each thread has its line of progress", each_thread_has_its_line_of_progress},
      {"functions of the program", functions_of_the_program},
      {"jobs end with their exit codes", jobs_end_with_their_exit_codes},
      {"a busy node is abandoned", a_busy_node_is_abandoned},
      {"a host ends its calls", a_host_ends_its_calls},
      {"calls outlive their host", calls_outlive_their_host},
      {"a console is on one host", consoles_are_on_one_host},
      {"a fork is refused", a_fork_is_refused},
      {"wrong calls are refused", wrong_calls},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (argc == 2 && strcmp(argv[1], cases[i].name) != 0) continue;
    if (argc < 2) puts(cases[i].name);
    released = 0;
    cases[i].run();
    if (cases[i].run == a_busy_node_is_abandoned && argc == 2) _exit(0); /* its memory is in use, and is no leak */
    if (argc == 2) return 0;
  }
  return argc < 2 ? 0 : 2;
}

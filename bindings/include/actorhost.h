/* actorhost's interface for C, and for other languages by their foreign function interfaces: libactorhost.so.
 *
 * A program starts a host: a job (as the command `actorhost` does), a console, which runs chunks of Lua on all its
 * nodes, or a worker, a node of a run with steps that the program does itself. All texts are UTF-8 or any bytes. No
 * function ends the process, and no C++ exception leaves one. Functions are thread-safe, but only one thread at a time
 * may use a call, except to interrupt it. Each function waits at most for the time that its arguments give, unless its
 * comment names another wait.
 *
 *   const char* flags[] = {"-n", "2"};
 *   ah_host* host = ah_host_new();
 *   if (ah_host_start(host, AH_CONSOLE, flags, 2) != AH_OK) return fail(ah_error());
 *   ah_call* call = ah_call_new(host, "actor.rank + 1", "=rank", NULL, 0);
 *   while (ah_call_wait(call, 1) == AH_PENDING) {}
 *   size_t count;
 *   const ah_value* values = ah_call_values(call, 0, &count);   // values[0].number is 1
 *   ah_call_free(call);
 *   ah_host_free(host);
 */
#ifndef ACTORHOST_H
#define ACTORHOST_H

#include <stddef.h>
#include <stdint.h>

/* Tensors pass as DLPack's DLManagedTensor: contiguous, in row-major order, in memory of the CPU, and of float32,
 * float64, int32, int64, uint8 or bool (type code 6, 8 bits). Debian's libdlpack-dev has the header. Without it these
 * are the same structs. */
#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define AH_HAS_DLPACK_HEADER 1
#endif
#endif

/* In C++ a value outside of an enumeration without a type is undefined; a program in C may pass any int. */
#ifdef __cplusplus
#define AH_INT : int
extern "C" {
#else
#define AH_INT
#endif

#ifndef AH_HAS_DLPACK_HEADER
typedef enum AH_INT { kDLCPU = 1 } DLDeviceType;
typedef enum { kDLInt = 0U, kDLUInt = 1U, kDLFloat = 2U } DLDataTypeCode;
typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; null: contiguous */
  uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor* self);
} DLManagedTensor;
#endif

#if defined(_WIN32)
#define AH_API
#else
#define AH_API __attribute__((visibility("default")))
#endif

/* The version of this interface. A library with another number has other structs or functions. */
#define AH_ABI_VERSION 1

typedef enum ah_status AH_INT {
  AH_OK = 0,
  AH_PENDING = 1,      /* not ended within the given seconds: wait again */
  AH_BAD_ARGUMENT = 2, /* a wrong argument, or a call at a wrong time; the call has had no effect */
  AH_SCRIPT = 3,       /* Lua raised an error, or the chunk does not parse */
  AH_FAILED = 4,       /* the run has failed, or the host could not take part */
  AH_ENDED = 5,        /* the run has ended, so the call has no effect */
  AH_INTERRUPTED = 6,
  AH_FORKED = 7, /* this process is a fork of the process that started the host */
  AH_MEMORY = 8
} ah_status;

typedef enum ah_type AH_INT {
  AH_NIL = 0,
  AH_BOOLEAN = 1,
  AH_NUMBER = 2,
  AH_INTEGER = 3, /* of 64 bits; Lua receives a number if a double represents it, else an int64_t */
  AH_TEXT = 4,
  AH_LIST = 5, /* an array; from Lua also an empty table */
  AH_MAP = 6,  /* a table with other keys */
  AH_TENSOR = 7
} ah_type;

/* A value of Lua. Only the fields of its type have a meaning. */
typedef struct ah_value {
  int32_t type;                 /* an ah_type */
  int32_t boolean;              /* 0 or 1 */
  double number;                /* AH_NUMBER */
  int64_t integer;              /* AH_INTEGER */
  const char* text;             /* AH_TEXT: `size` bytes; from Lua they end with a zero byte */
  const struct ah_value* items; /* AH_LIST: `size` values. AH_MAP: 2 * `size` values, key, value, key, ... */
  size_t size;
  struct DLManagedTensor* tensor; /* AH_TENSOR. Both sides share the elements. The receiver calls the deleter */
} ah_value;

/* AH_ABI_VERSION and the version of actorhost ("0.1.0"), as the library has been built. */
AH_API uint32_t ah_abi_version(void);
AH_API const char* ah_version(void);
/* The text of the last failure on this thread; valid until the thread's next call. Never null. */
AH_API const char* ah_error(void);

/* ---- hosts ---- */

typedef struct ah_host ah_host;
typedef struct ah_frame ah_frame;

/* A function for Lua: require("host").NAME. Nodes call it concurrently, on their own threads. It calls ah_return or
 * ah_raise, or neither to return nil. The arguments are valid during the call; to keep a tensor, copy its pointer and
 * set the field to null. */
typedef void (*ah_function)(void* data, ah_frame* frame, ah_value* arguments, size_t count);

typedef enum ah_work AH_INT {
  AH_JOB = 0,     /* the nodes run the script that the flags name */
  AH_CONSOLE = 1, /* the nodes, all on this host, wait for the chunks of ah_call_new; the flags name no script */
  AH_WORKER = 2   /* the host has one worker. Where its script calls `push`, it runs the program's calls instead, until
                     one of them calls require("actor").program.finish() */
} ah_work;

/* Makes a host, without starting it; null if memory runs out. */
AH_API ah_host* ah_host_new(void);
/* Gives Lua a function. Before ah_host_start. The function and `data` must outlive the host. */
AH_API ah_status ah_host_function(ah_host* host, const char* name, ah_function function, void* data);
/* Starts the host on threads of its own and returns at once. `flags` are the words of a command line of actorhost,
 * without the program's name: {"-n", "4", "job.lua"}; {"agent", "--join", "10.0.0.1:17871"}. A host starts once. Wrong
 * flags and missing files appear in ah_host_poll. The host's threads take no signals of the process. */
AH_API ah_status ah_host_start(ah_host* host, ah_work work, const char* const* flags, size_t count);
/* Waits for the end of the run. AH_PENDING: it still runs after `seconds`. AH_OK: it has ended, with `exit_code` 0.
 * AH_INTERRUPTED or AH_FAILED: it has ended with another `exit_code` (listed in the README), and ah_error is the
 * reason. `exit_code` may be null. */
AH_API ah_status ah_host_poll(ah_host* host, double seconds, int* exit_code);
/* The line that shows the progress of the run; "" without one. Valid until this thread's next call of this
 * function. */
AH_API const char* ah_host_progress(ah_host* host);
/* Ends the run as Ctrl-C does. On a host that has joined a run, only the host leaves. */
AH_API ah_status ah_host_interrupt(ah_host* host);
/* Ends the run, waits for its end (about two seconds at most), and frees the host. Its calls end; they remain valid
 * until ah_call_free. In a fork it does nothing. */
AH_API void ah_host_free(ah_host* host);

/* ---- calls into Lua ---- */

typedef struct ah_call ah_call;

/* Begins a call: runs the chunk `source`, an expression or statements, with the arguments as `...`. A console runs it
 * on all nodes together. `name` is its name in errors, in Lua's form: "=input", "@job.lua". Takes over the tensors of
 * the arguments, also on failure; copies the other values. Null on failure. */
AH_API ah_call* ah_call_new(ah_host* host, const char* source, const char* name, const ah_value* arguments,
                            size_t count);
/* Waits for the end of the call. AH_SCRIPT: ah_error is the message with its line. AH_ENDED: the run has ended before
 * the call; after a run of a worker ah_call_values has the run's summary. */
AH_API ah_status ah_call_wait(ah_call* call, double seconds);
/* The output (`print`) of rank 0 since the last call of this function; valid until then. */
AH_API const char* ah_call_output(ah_call* call, size_t* size);
/* The values that the chunk has returned on the node of this rank (0 for the host of a worker); null and 0 without
 * values. They belong to the call; to keep a tensor, copy its pointer and set the field to null. */
AH_API ah_value* ah_call_values(ah_call* call, uint32_t rank, size_t* count);
/* Interrupts the chunk, as Ctrl-C in a console does; ah_call_wait reports the end. */
AH_API ah_status ah_call_interrupt(ah_call* call);
/* Frees the call and its values. Interrupts the call if it has not ended. */
AH_API void ah_call_free(ah_call* call);

/* ---- in a function for Lua ---- */

/* The result of the function. Takes over tensors, copies other values. */
AH_API ah_status ah_return(ah_frame* frame, const ah_value* value);
/* The function raises this message as a Lua error, at the line of the call. */
AH_API void ah_raise(ah_frame* frame, const char* message);

#ifdef __cplusplus
}
#endif

#endif

// What the compiler calls for every load and store of a program that parcc-cc --check built: it compiles with
// -fsanitize=thread and links these functions in the place of the sanitizer's. Only memory of this layer is looked at.
#include "check.h"

#include <string.h>

#include "fail.h"
#include "parcc.h"

static _Noreturn void fail_bounds(const Allocation *a, const char *at, size_t bytes, bool written) {
  const bool below = at < a->base;
  const size_t distance = below ? (size_t)(a->base - at) : (size_t)(at - a->base) - a->bytes;
  fail_alone(FAIL_RUN, "%s: out of bounds: it %s %zu bytes %zu bytes %s the %s memory of %zu bytes",
             check_text(check_running()), written ? "writes" : "reads", bytes, distance, below ? "before" : "behind",
             a->device ? "device" : "pinned", a->bytes);
}

static void access(const char *at, size_t bytes, bool written) {
  const Allocation *a = check_find(at);
  if (a == NULL) return; // variables of the program
  if (!check_in_kernel && !a->device) return;
  if (!check_in_kernel)
    fail_alone(FAIL_RUN, "in %s (%s): the host %s %s, which is for kernels",
               parcc_place.op == NULL ? "?" : parcc_place.op, parcc_place.where == NULL ? "?" : parcc_place.where,
               written ? "writes" : "reads", check_name(at));
  if (!check_inside(a, at, bytes)) fail_bounds(a, at, bytes, written);
  check_touch(at, bytes, written);
  const char *poison = written ? NULL : check_find_poison(at, bytes);
  if (poison != NULL) check_poison_read(poison);
}

static inline void load(const void *at, size_t bytes) {
  if (parcc_checking) access(at, bytes, false);
}
static inline void store(const void *at, size_t bytes) {
  if (parcc_checking) access(at, bytes, true);
}

void __tsan_init(void);
void __tsan_init(void) {}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}

#define TRACE(n)                                                                                                       \
  void __tsan_read##n(void *at);                                                                                       \
  void __tsan_read##n(void *at) { load(at, n); }                                                                       \
  void __tsan_write##n(void *at);                                                                                      \
  void __tsan_write##n(void *at) { store(at, n); }                                                                     \
  void __tsan_volatile_read##n(void *at);                                                                              \
  void __tsan_volatile_read##n(void *at) { load(at, n); }                                                              \
  void __tsan_volatile_write##n(void *at);                                                                             \
  void __tsan_volatile_write##n(void *at) { store(at, n); }                                                            \
  void __tsan_unaligned_read##n(void *at);                                                                             \
  void __tsan_unaligned_read##n(void *at) { load(at, n); }                                                             \
  void __tsan_unaligned_write##n(void *at);                                                                            \
  void __tsan_unaligned_write##n(void *at) { store(at, n); }
TRACE(1)
TRACE(2)
TRACE(4)
TRACE(8)
TRACE(16)

void __tsan_read_range(void *at, size_t bytes);
void __tsan_read_range(void *at, size_t bytes) { load(at, bytes); }
void __tsan_write_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes) { store(at, bytes); }

void *__tsan_memcpy(void *dst, const void *src, size_t bytes);
void *__tsan_memcpy(void *dst, const void *src, size_t bytes) {
  load(src, bytes);
  store(dst, bytes);
  return memcpy(dst, src, bytes);
}
void *__tsan_memmove(void *dst, const void *src, size_t bytes);
void *__tsan_memmove(void *dst, const void *src, size_t bytes) {
  load(src, bytes);
  store(dst, bytes);
  return memmove(dst, src, bytes);
}
void *__tsan_memset(void *dst, int value, size_t bytes);
void *__tsan_memset(void *dst, int value, size_t bytes) {
  store(dst, bytes);
  return memset(dst, value, bytes);
}

// Atomic accesses are of the runtime's own variables; what is asked for is what is done, in the strongest order.
#define ATOMIC(bits, type)                                                                                             \
  type __tsan_atomic##bits##_load(const volatile type *at, int order);                                                 \
  type __tsan_atomic##bits##_load(const volatile type *at, int order) {                                                \
    (void)order;                                                                                                       \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                      \
  }                                                                                                                    \
  void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                                          \
  void __tsan_atomic##bits##_store(volatile type *at, type value, int order) {                                         \
    (void)order;                                                                                                       \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                     \
  }                                                                                                                    \
  type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order);                                       \
  type __tsan_atomic##bits##_exchange(volatile type *at, type value, int order) {                                      \
    (void)order;                                                                                                       \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                                    \
  type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order);                                      \
  type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order) {                                     \
    (void)order;                                                                                                       \
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                            \
  }
ATOMIC(8, signed char)
ATOMIC(16, short)
ATOMIC(32, int)
ATOMIC(64, long)

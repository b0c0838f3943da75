// Launches in programs that parcc-cc --check builds: calls, or queued in the checking mode (check.h).
//
// Taken apart from kernel.h because a kernel whose address is taken is slower: compilers then no longer work the arguments
// that are the same in all launches into it, or only into a copy that gives other bits (runtime/README.md has numbers).
#ifndef PARCC_HOST_CHECK_LAUNCH_H
#define PARCC_HOST_CHECK_LAUNCH_H

#include "cuda_runtime.h"

typedef void (*ParccKernel)(void);

#ifdef __cplusplus
extern "C" {
#endif
extern int parcc_checking;
// Returns what to call in the kernel's place, at once, as the kernel's type and so with its arguments converted: a function
// that keeps them. texts: the arguments as written; kinds: for each of them p (pointer), r (real) or w (another word). All
// strings but kinds must be literals.
ParccKernel parcc_check_launch(cudaStream_t stream, ParccKernel kernel, const char *name, const char *texts, const char *kinds);
typedef struct { void *at; size_t bytes; } ParccRange;
// text: the ranges as written, a literal.
void parcc_check_lifetime_end(const ParccRange *ranges, size_t n, const char *text);
// Tells the runtime how the program was built.
extern const char parcc_built_for_check;
__attribute__((weak)) const char parcc_built_for_check = 1;
#ifdef __cplusplus
}
#endif

// Applies PARCC_KIND to each of the arguments, with a comma behind each.
#define PARCC_KIND(x)                                                                                                  \
  _Generic((x), float : 'r', double : 'r', float * : 'p', const float * : 'p', double * : 'p', const double * : 'p',   \
           int * : 'p', const int * : 'p', default : 'w')
#define PARCC_KINDS(...) PARCC_RESCAN(PARCC_KINDS_OF(__VA_ARGS__))
#define PARCC_KINDS_OF(x, ...) PARCC_KIND(x), __VA_OPT__(PARCC_KINDS_AGAIN PARCC_NOTHING(__VA_ARGS__))
#define PARCC_KINDS_AGAIN() PARCC_KINDS_OF
#define PARCC_NOTHING ()
#define PARCC_RESCAN(...) PARCC_RESCAN16(PARCC_RESCAN16(PARCC_RESCAN16(PARCC_RESCAN16(__VA_ARGS__))))
#define PARCC_RESCAN16(...) PARCC_RESCAN4(PARCC_RESCAN4(PARCC_RESCAN4(PARCC_RESCAN4(__VA_ARGS__))))
#define PARCC_RESCAN4(...) PARCC_RESCAN1(PARCC_RESCAN1(PARCC_RESCAN1(PARCC_RESCAN1(__VA_ARGS__))))
#define PARCC_RESCAN1(...) __VA_ARGS__

#define PARCC_LAUNCH_ON(stream, kernel, work, ...)                                                                     \
  do {                                                                                                                 \
    if ((work) > 0) {                                                                                                  \
      if (!parcc_checking) kernel(__VA_ARGS__);                                                                        \
      else {                                                                                                           \
        const char parcc_kinds_[] = {PARCC_KINDS(__VA_ARGS__) '\0'};                                                   \
        ((__typeof__(&kernel))parcc_check_launch(stream, (ParccKernel)kernel, #kernel, #__VA_ARGS__, parcc_kinds_))(   \
            __VA_ARGS__);                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

#define LIFETIME_END(...)                                                                                              \
  do {                                                                                                                 \
    const ParccRange parcc_ended_[] = {__VA_ARGS__};                                                                   \
    if (parcc_checking)                                                                                                \
      parcc_check_lifetime_end(parcc_ended_, sizeof parcc_ended_ / sizeof parcc_ended_[0], #__VA_ARGS__);              \
  } while (0)

#endif

// Makes loops over mathematical functions vectorise on the host, through glibc's libmvec (at most 4 ulp of error).
//
// gcc uses the vector variant of a function that is declared with the simd attribute; glibc declares them so only under
// -ffast-math, which would also assume that there are no NaNs. clang knows the oldest of them through -fveclib=libmvec.
#ifndef PARCC_VECTOR_MATH_H
#define PARCC_VECTOR_MATH_H

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC_PREREQ)
#define PARCC_SIMD(name)                                                                                               \
  extern float name##f(float) __attribute__((simd("notinbranch")));                                                    \
  extern double name(double) __attribute__((simd("notinbranch")));
#define PARCC_SIMD2(name)                                                                                              \
  extern float name##f(float, float) __attribute__((simd("notinbranch")));                                             \
  extern double name(double, double) __attribute__((simd("notinbranch")));
PARCC_SIMD(exp)
PARCC_SIMD(log)
PARCC_SIMD(sin)
PARCC_SIMD(cos)
PARCC_SIMD2(pow)
#if __GLIBC_PREREQ(2, 35)
PARCC_SIMD(acos)
PARCC_SIMD(acosh)
PARCC_SIMD(asin)
PARCC_SIMD(asinh)
PARCC_SIMD(atan)
PARCC_SIMD(atanh)
PARCC_SIMD(cbrt)
PARCC_SIMD(cosh)
PARCC_SIMD(erf)
PARCC_SIMD(erfc)
PARCC_SIMD(exp2)
PARCC_SIMD(expm1)
PARCC_SIMD(log10)
PARCC_SIMD(log1p)
PARCC_SIMD(log2)
PARCC_SIMD(sinh)
PARCC_SIMD(tan)
PARCC_SIMD(tanh)
PARCC_SIMD2(atan2)
#endif
#endif

#define PARCC_MATH static inline __attribute__((always_inline, unused))

// The maximum as a comparison: the C library's is a call. As there, fmaxf(NaN, b) is b; unlike there, fmaxf(a, NaN) is NaN.
PARCC_MATH float parcc_fmaxf(float a, float b) { return a > b ? a : b; }
PARCC_MATH float parcc_fminf(float a, float b) { return a < b ? a : b; }
PARCC_MATH double parcc_fmax(double a, double b) { return a > b ? a : b; }
PARCC_MATH double parcc_fmin(double a, double b) { return a < b ? a : b; }
#define fmaxf(a, b) parcc_fmaxf(a, b)
#define fminf(a, b) parcc_fminf(a, b)
#define fmax(a, b) parcc_fmax(a, b)
#define fmin(a, b) parcc_fmin(a, b)

#ifdef __clang__
// clang knows no vector tanh. Rational near 0 (coefficients of Moshier's Cephes library), by the exponential elsewhere.
PARCC_MATH float parcc_tanhf(float x) {
  const float z = x * x;
  const float near =
      ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z -
       3.33332819422e-1f) *
          z * x +
      x;
  const float far = copysignf(1.f - 2.f / (expf(2.f * fabsf(x)) + 1.f), x);
  return fabsf(x) < 0.625f ? near : far;
}
PARCC_MATH double parcc_tanh(double x) {
  const double z = x * x;
  const double p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3;
  const double q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
  const double far = copysign(1. - 2. / (exp(2. * fabs(x)) + 1.), x);
  return fabs(x) < 0.625 ? x + x * z * (p / q) : far;
}
#define tanhf(x) parcc_tanhf(x)
#define tanh(x) parcc_tanh(x)
#endif

#endif

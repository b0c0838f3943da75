// A test is a function without arguments; a check that fails is printed with its place, and the test program then ends
// with code 1. CHECKS(a, b, ...) is its main: it runs the tests in order and prints counts.
#ifndef PARCC_TESTS_CHECK_H
#define PARCC_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected) check_int((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_STR(actual, expected) check_str((actual), (expected), #actual, __FILE__, __LINE__)
// |actual - expected| <= tolerance * max(1, |expected|); false for NaN
#define CHECK_NEAR(actual, expected, tolerance)                                                                        \
  check_near((actual), (expected), (tolerance), #actual, __FILE__, __LINE__)

bool check_true(bool condition, const char *text, const char *file, int line);
bool check_int(int64_t actual, int64_t expected, const char *text, const char *file, int line);
bool check_str(const char *actual, const char *expected, const char *text, const char *file, int line);
bool check_near(double actual, double expected, double tolerance, const char *text, const char *file, int line);
// For failures found by other means; counts as a check.
void check_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct CheckTest {
  const char *name;
  void (*run)(void);
} CheckTest;
int check_run(const CheckTest *tests, int n);

#define TEST(function)                                                                                                 \
  { #function, function }
#define CHECKS(...)                                                                                                    \
  int main(void) {                                                                                                     \
    const CheckTest tests[] = {__VA_ARGS__};                                                                           \
    return check_run(tests, (int)(sizeof tests / sizeof tests[0]));                                                    \
  }

#endif

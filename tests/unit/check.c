#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int checks, failures;

static bool report(bool holds, const char *file, int line) {
  checks++;
  if (!holds) {
    failures++;
    printf("%s:%d: ", file, line);
  }
  return holds;
}

bool check_true(bool condition, const char *text, const char *file, int line) {
  if (!report(condition, file, line)) printf("%s is false\n", text);
  return condition;
}

bool check_int(int64_t actual, int64_t expected, const char *text, const char *file, int line) {
  if (!report(actual == expected, file, line))
    printf("%s is %lld, expected %lld\n", text, (long long)actual, (long long)expected);
  return actual == expected;
}

bool check_str(const char *actual, const char *expected, const char *text, const char *file, int line) {
  const bool holds = actual == NULL || expected == NULL ? actual == expected : strcmp(actual, expected) == 0;
  if (!report(holds, file, line))
    printf("%s is\n  \"%s\"\nexpected\n  \"%s\"\n", text, actual != NULL ? actual : "(null)",
           expected != NULL ? expected : "(null)");
  return holds;
}

bool check_near(double actual, double expected, double tolerance, const char *text, const char *file, int line) {
  const double scale = fabs(expected) > 1 ? fabs(expected) : 1;
  const bool holds = actual == expected || fabs(actual - expected) <= tolerance * scale;
  if (!report(holds, file, line)) printf("%s is %.17g, expected %.17g within %g\n", text, actual, expected, tolerance);
  return holds;
}

void check_fail(const char *format, ...) {
  va_list args;
  checks++;
  failures++;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  putchar('\n');
}

int check_run(const CheckTest *tests, int n) {
  int failed = 0;
  for (int i = 0; i < n; i++) {
    const int before_checks = checks, before = failures;
    tests[i].run();
    if (checks == before_checks) check_fail("%s checked nothing", tests[i].name);
    if (failures > before) {
      printf("FAILED %s\n", tests[i].name);
      failed++;
    }
  }
  printf("%d tests, %d failed, %d checks\n", n, failed, checks);
  return failed > 0;
}

#include "../../ir/suggest.h"
#include "check.h"

static const char *const words[] = {"conv", "dense", "dropout", "softmax", "maxpool", "avgpool", "relu"};
static const char *nearest(const char *word) {
  return suggest_nearest(word, words, (int)(sizeof words / sizeof words[0]));
}

static void slips_are_found(void) {
  CHECK_STR(nearest("con"), "conv");
  CHECK_STR(nearest("dens"), "dense");
  CHECK_STR(nearest("dnese"), "dense"); // neighbours swapped: one edit
  CHECK_STR(nearest("sofmax"), "softmax");
  CHECK_STR(nearest("maxpol"), "maxpool");
  CHECK_STR(nearest("dropuot"), "dropout");
  CHECK_STR(nearest("relu"), "relu");
}

static void parts_are_found(void) {
  CHECK_STR(nearest("pool"), "maxpool"); // the first that has it
  CHECK_STR(nearest("drop"), "dropout");
  CHECK_STR(nearest("so"), 0); // too short
}

static void strangers_are_not(void) {
  CHECK_STR(nearest("batchnorm"), 0);
  CHECK_STR(nearest("x"), 0);
  CHECK_STR(nearest(""), 0);
  CHECK_STR(nearest("a very long word that is longer than anything a person would ever type as a name of anything"), 0);
  CHECK_STR(suggest_nearest("conv", words, 0), 0);
}

CHECKS(TEST(slips_are_found), TEST(parts_are_found), TEST(strangers_are_not))

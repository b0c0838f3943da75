// Fuzzer of profiles: any bytes. There must be no crash, no leak, no sanitizer's complaint, and either problems, each with a place, or
// times that read the same after they were printed.
#include "ir/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_print(Arena *arena, const Profile *profile) {
  Problems problems = {.arena = arena};
  Text text = {.arena = arena};
  text_printf(&text, "profile %d\n", PROFILE_VERSION);
  for (int i = 0; i < profile->numbers.cap; i++) {
    const char *what = profile->numbers.slot[i].key;
    if (what != NULL) profile_print_line(&text, profile_seconds(profile, what), what);
  }
  const Profile again = profile_read("again.profile", text_str(&text), text.len, &problems);
  bool same = problems.list.len == 0 && again.seconds.len == profile->seconds.len;
  for (int i = 0; i < profile->numbers.cap && same; i++) {
    const char *what = profile->numbers.slot[i].key;
    same = what == NULL || profile_seconds(&again, what) == profile_seconds(profile, what);
  }
  if (!same) fatal("a profile changes when it is written and read: %s", text_str(&text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *arena = arena_new();
  Problems problems = {.arena = arena};
  const Profile profile = profile_read("fuzz.profile", (const char *)data, size, &problems);
  for (int i = 0; i < problems.list.len; i++)
    if (problems.list.at[i].loc.line == 0) fatal("a problem without a place: %s", problems.list.at[i].text);
  if (problems.list.len == 0) check_print(arena, &profile);
  arena_free(arena);
  return 0;
}

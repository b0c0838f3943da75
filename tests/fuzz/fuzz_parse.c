// Fuzzer of the frontend: any bytes as a model file. There must be no crash, no leak, no sanitizer's complaint, and either
// a model or an error. Built with clang -fsanitize=fuzzer,address,undefined. With FUZZ_SYNTAX_ONLY the parser alone.
#include "frontend/diag.h"
#include "frontend/frontend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *arena = arena_new();
  AstFile *file = parse_text(arena, "fuzz.dnn", (const char *)data, size);
#ifdef FUZZ_SYNTAX_ONLY
  (void)file;
#else
  if (diag_errors() == 0) {
    AstFile *prelude = parse_prelude(arena);
    ElabOptions options = {0};
    Model *model = elab_model(arena, prelude, file, &options);
    if (!model && diag_errors() == 0) fatal("no model and no error");
    if (model && diag_errors() > 0) fatal("a model in spite of errors");
  }
#endif
  diag_reset();
  arena_free(arena);
  return 0;
}

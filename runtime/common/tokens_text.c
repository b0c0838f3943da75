#include "tokens_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vocabulary.h"

typedef enum { BYTES, WORDS, PIECES, NUMBERS } Kind;

static struct {
  const ParccInput *input;
  Kind kind;
  Vocabulary vocabulary;
  bool terminal, begun;
} text;

bool tokens_text_open(const ParccInput *input, const char *directory, Fault *fault) {
  const ParccWindows *windows = input->source.windows;
  text.input = input;
  text.terminal = isatty(STDOUT_FILENO) == 1;
  text.kind = windows != NULL && strcmp(input->source.kind, "text") == 0 ? BYTES : NUMBERS;
  if (windows == NULL || windows->vocabulary == NULL) return true;
  char path[4096];
  if (directory == NULL || strcmp(directory, "synthetic") == 0)
    return fault_set(fault, FAIL_MISUSE, "--sample: give --data DIR, where the vocabulary %s is", windows->vocabulary);
  if (snprintf(path, sizeof path, "%s/%s", directory, windows->vocabulary) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--data: the path is too long");
  if (!vocabulary_open(&text.vocabulary, path, input->range, fault)) return false;
  text.kind = text.vocabulary.pieces ? PIECES : WORDS;
  return true;
}

// The length of the token that the text begins with, and the token; where there is none the fault is set.
static size_t take_word(const char *at, long *token, Fault *fault) {
  const size_t length = strcspn(at, " \t\n");
  *token = vocabulary_find(&text.vocabulary, at, length);
  if (*token < 0)
    fault_set(fault, FAIL_MISUSE, "--sample: %s has no word '%.*s'", text.vocabulary.file.path, (int)length, at);
  return length;
}

static size_t take_piece(const char *at, long *token, Fault *fault) {
  size_t length = strnlen(at, text.vocabulary.longest);
  while (length > 0 && (*token = vocabulary_find(&text.vocabulary, at, length)) < 0) length--;
  if (length == 0) fault_set(fault, FAIL_MISUSE, "--sample: %s has no piece for '%s'", text.vocabulary.file.path, at);
  return length;
}

static size_t take_number(const char *at, long *token, Fault *fault) {
  const size_t length = strcspn(at, " \t\n");
  char *end = NULL;
  errno = 0;
  *token = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
  if (end != at + length || errno != 0 || *token >= text.input->range)
    fault_set(fault, FAIL_MISUSE, "--sample: the tokens of %s are numbers in [0, %ld), separated by blanks, not '%.*s'",
              text.input->name, text.input->range, (int)length, at);
  return length;
}

static size_t take(const char *at, long *token, Fault *fault) {
  switch (text.kind) {
  case WORDS: return take_word(at, token, fault);
  case PIECES: return take_piece(at, token, fault);
  case NUMBERS: return take_number(at, token, fault);
  case BYTES: break;
  }
  *token = (unsigned char)*at;
  if (*token >= text.input->range)
    fault_set(fault, FAIL_MISUSE, "--sample: byte %ld is none of the values of %s, [0, %ld)", *token, text.input->name,
              text.input->range);
  return 1;
}

bool tokens_of_text(const char *at, long **tokens, long *n, Fault *fault) {
  const char *blanks = text.kind == WORDS || text.kind == NUMBERS ? " \t\n" : "";
  *n = 0;
  *tokens = malloc((strlen(at) + 1) * sizeof **tokens);
  if (*tokens == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
  for (at += strspn(at, blanks); *at != '\0'; at += strspn(at, blanks)) {
    at += take(at, &(*tokens)[*n], fault);
    if (fault->code != FAIL_NONE) return false;
    ++*n;
  }
  return *n > 0 || fault_set(fault, FAIL_MISUSE, "--sample wants a prompt of at least one token");
}

// A terminal gets no control characters, which may do anything.
static void print_bytes(const unsigned char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const bool odd = (bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\t') || bytes[i] == 127;
    putchar(text.terminal && odd ? '?' : bytes[i]);
  }
}

void tokens_print(long token) {
  const bool apart = text.kind == WORDS || text.kind == NUMBERS;
  if (apart && text.begun) putchar(' ');
  text.begun = true;
  if (text.kind == BYTES) print_bytes(&(unsigned char){(unsigned char)token}, 1);
  else if (text.kind != NUMBERS && token < text.vocabulary.n)
    print_bytes(text.vocabulary.file.bytes + text.vocabulary.word[token].start, text.vocabulary.word[token].length);
  else printf(text.kind == NUMBERS ? "%ld" : "<%ld>", token);
  if (text.terminal) fflush(stdout);
}

void tokens_print_end(void) { putchar('\n'); }

void tokens_text_close(void) {
  vocabulary_close(&text.vocabulary);
  text.begun = false;
}

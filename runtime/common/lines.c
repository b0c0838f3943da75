#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

// A file so long is not checked before training begins.
enum { CHECKED_AT_START = 1 << 26 };

static long sample_length(const Lines *lines) { return lines->input->extent[1]; }

// ---- the tokens of a line

typedef struct {
  const Lines *lines;
  long line;
  const char *at, *end;
} Cursor;

static Cursor begin_line(const Lines *lines, long line) {
  const char *bytes = (const char *)lines->file.bytes;
  Cursor cursor = {lines, line, bytes + lines->start[line], bytes + lines->start[line + 1]};
  if (cursor.end > cursor.at && cursor.end[-1] == '\n') cursor.end--;
  if (cursor.end > cursor.at && cursor.end[-1] == '\r') cursor.end--;
  return cursor;
}

static bool wrong_token(const Cursor *cursor, const char *what, const char *word, size_t length, Fault *fault) {
  return fault_set(fault, FAIL_RUN, "%s: line %ld: %s '%.*s'", cursor->lines->file.path, cursor->line + 1, what,
                   length < 60 ? (int)length : 60, word);
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static bool next_word(Cursor *cursor, long *token, Fault *fault) {
  const Lines *lines = cursor->lines;
  while (cursor->at < cursor->end && is_blank(*cursor->at)) cursor->at++;
  const char *word = cursor->at;
  while (cursor->at < cursor->end && !is_blank(*cursor->at)) cursor->at++;
  const size_t length = (size_t)(cursor->at - word);
  if (length == 0) return false;
  *token = vocabulary_find(&lines->vocabulary, word, length);
  if (*token < 0) *token = lines->input->source.lines->unknown;
  return *token >= 0 || wrong_token(cursor, "the vocabulary has no word", word, length, fault);
}

// False at the end of the line, and where the token is wrong.
static bool next_token(Cursor *cursor, long *token, Fault *fault) {
  if (cursor->lines->vocabulary.n > 0) return next_word(cursor, token, fault);
  if (cursor->at == cursor->end) return false;
  *token = (unsigned char)*cursor->at++;
  return *token < cursor->lines->input->range || wrong_token(cursor, "too large a byte", cursor->at - 1, 1, fault);
}

// ---- the file

static bool find_lines(Lines *lines, Fault *fault) {
  const DataFile *file = &lines->file;
  size_t room = 0, n = 0;
  for (size_t at = 0;; n++) {
    if (n == room) {
      room = room == 0 ? 1024 : 2 * room;
      size_t *larger = realloc(lines->start, room * sizeof *larger);
      if (larger == NULL) return fault_set(fault, FAIL_RUN, "out of memory");
      lines->start = larger;
    }
    lines->start[n] = at;
    if (at == file->size) break;
    const unsigned char *end = memchr(file->bytes + at, '\n', file->size - at);
    at = end == NULL ? file->size : (size_t)(end - file->bytes) + 1;
    watch_moved();
  }
  lines->n = (long)n;
  return true;
}

static void take_split(Lines *lines, bool test) {
  const double held_out = lines->input->source.lines->held_out;
  const long train = lines->n - (long)((double)lines->n * held_out);
  if (held_out == 0) return;
  lines->first = test ? train : 0;
  lines->n = test ? lines->n - train : train;
}

static bool check_lines(Lines *lines, Fault *fault) {
  const ParccLines *how = lines->input->source.lines;
  const long extra = (how->begin >= 0) + (how->end >= 0);
  for (long line = lines->first; line < lines->first + lines->n; line++) {
    Cursor cursor = begin_line(lines, line);
    long token, n = 0;
    while (next_token(&cursor, &token, fault)) n++;
    if (fault->code != FAIL_NONE) return false;
    lines->cut += n + extra > sample_length(lines);
    watch_moved();
  }
  return true;
}

static bool open_vocabulary(Lines *lines, const char *directory, Fault *fault) {
  char path[4096];
  const char *name = lines->input->source.lines->vocabulary;
  if (name == NULL) return true;
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
    return fault_set(fault, FAIL_MISUSE, "--data: the path is too long");
  if (!vocabulary_open(&lines->vocabulary, path, lines->input->range, fault)) return false;
  return !lines->vocabulary.pieces ||
         fault_set(fault, FAIL_RUN, "%s: a vocabulary of pieces; lines are made of words, a text with one in each line",
                   path);
}

bool lines_open(Lines *lines, const ParccInput *input, const char *path, const char *directory, bool test,
                Fault *fault) {
  *lines = (Lines){.input = input};
  if (!open_vocabulary(lines, directory, fault)) return false;
  if (!data_file_open(&lines->file, path, DATA_FILE_ANY, fault) || !find_lines(lines, fault)) return false;
  take_split(lines, test);
  if (lines->n == 0) return fault_set(fault, FAIL_RUN, "%s: it has no samples", path);
  return lines->file.size > CHECKED_AT_START || check_lines(lines, fault);
}

void lines_close(Lines *lines) {
  data_file_close(&lines->file);
  vocabulary_close(&lines->vocabulary);
  free(lines->start);
  *lines = (Lines){0};
}

// ---- samples

typedef struct {
  size_t at, first, count; // the next token's place in the sample; what is wanted
  int *dst;
} Filler;

static void put(Filler *filler, long token) {
  if (filler->at >= filler->first && filler->at - filler->first < filler->count)
    filler->dst[filler->at - filler->first] = (int)token;
  filler->at++;
}

void lines_copy(const Lines *lines, long line, size_t first, size_t count, int *dst) {
  const ParccLines *how = lines->input->source.lines;
  Filler filler = {0, first, count, dst};
  Cursor cursor = begin_line(lines, lines->first + line);
  Fault fault = {0};
  long token;
  if (how->begin >= 0) put(&filler, how->begin);
  while (filler.at < first + count && next_token(&cursor, &token, &fault)) put(&filler, token);
  if (fault.code != FAIL_NONE) fail_alone(fault.code, "%s", fault.text);
  if (how->end >= 0) put(&filler, how->end);
  while (filler.at < first + count) put(&filler, how->pad);
}

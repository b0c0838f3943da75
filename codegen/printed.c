#include "printed.h"

#include <ctype.h>

enum { MAX_NESTED = 32 };

Printer printer_new(const Program *program) {
  Printer pr = {.program = program, .arena = program->arena};
  pr.tensors.arena = pr.texts.arena = pr.skeletons.arena = pr.kernels.arena = pr.key.arena = program->arena;
  for (int t = 0; t < program->tensors.len; t++)
    if (!program->tensors.at[t].is_part) names_set(&pr.tensors, program->tensors.at[t].c_name, t);
  return pr;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// ---- texts -------------------------------------------------------------------------------------------------------

const char *printer_text(Printer *pr, const char *text, size_t len) {
  const int known = names_get_len(&pr->texts, text, len);
  if (known >= 0) return pr->text_at.at[known];
  const char *copy = arena_strndup(pr->arena, text, len);
  names_set_own(&pr->texts, copy, pr->text_at.len);
  vec_push_own(pr->arena, &pr->text_at, copy);
  return copy;
}

// ---- parameters of kernels ---------------------------------------------------------------------------------------

// "__global__ void k_relu(float *__restrict__ y, long N) {": the last word before each comma.
static const char *enter_parameters(Printer *pr, const char *open) {
  Text names = {.arena = pr->arena};
  const char *word = open, *end = open;
  for (const char *c = open + 1; *c != '{'; c++) {
    if (is_word(*c)) {
      if (!is_word(c[-1])) word = c;
      end = c + 1;
    } else if (*c == ',' || *c == ')') {
      for (; word < end; word++) text_char(&names, (char)tolower((unsigned char)*word));
      text_char(&names, ' ');
    }
  }
  return names.len > 0 ? text_str(&names) : "";
}

static void enter_kernels(Printer *pr, const Text *definitions) {
  static const char mark[] = "__global__ void ";
  if (definitions->len == pr->seen) return;
  for (const char *at = definitions->at + pr->seen; (at = strstr(at, mark)) != NULL;) {
    const char *name = at + strlen(mark), *open = strchr(name, '(');
    names_set(&pr->kernels, arena_strndup(pr->arena, name, (size_t)(open - name)), pr->parameters.len);
    vec_push(pr->arena, &pr->parameters, enter_parameters(pr, open));
    at = open;
  }
  pr->seen = definitions->len;
}

static const char *nth_word(Printer *pr, const char *words, int n) {
  for (; n > 0 && *words != '\0'; n--) words += strcspn(words, " ") + 1;
  const size_t len = strcspn(words, " ");
  return len > 0 ? printer_text(pr, words, len) : "size";
}

// ---- what a number is for ----------------------------------------------------------------------------------------

typedef struct Open { // a nest that the text is in
  Nest nest;
  int argument;
  const Nest *kept; // for the numbers in it; NULL: none yet
} Open;

typedef struct Reader {
  Printer *pr;
  Printed *out;
  const char *begin; // of all text
  const char *start; // of the text that is not yet a piece
  Open open[MAX_NESTED];
  int depth;
  const char *word; // last one, before an opening parenthesis the function
  int word_len;
} Reader;

static bool begins(const Nest *nest, const char *prefix) {
  const int len = (int)strlen(prefix);
  return nest->len >= len && strncmp(nest->name, prefix, (size_t)len) == 0;
}

static int parameters_of(Printer *pr, const Nest *nest) {
  return nest->kernel != NULL ? names_get(&pr->kernels, printer_text(pr, nest->kernel, (size_t)nest->kernel_len)) : -1;
}

const char *printer_role(Printer *pr, const Piece *number) {
  static const char plain[] = "h opb opa n m k alpha b ldb a lda beta c ldc";
  static const char batched[] = "h opb opa n m k alpha b ldb stride_b a lda stride_a beta c ldc stride_c batch";
  const Nest *nest = number->nest;
  if (nest == NULL || nest->len == 0) return "size";
  if (nest->name[nest->len] == '[') return printer_text(pr, nest->name, (size_t)nest->len);
  if (number->factor) return "stride";
  if (number->shift) return "start";
  if (begins(nest, "for")) return "times";
  if (begins(nest, "LAUNCH")) {
    if (number->argument == 1) return begins(nest, "LAUNCH_FLAT") ? "elements" : "rows";
    const int first = begins(nest, "LAUNCH_MAP") ? 3 : 2, kernel = parameters_of(pr, nest);
    if (number->argument < first) return "cols";
    return kernel >= 0 ? nth_word(pr, pr->parameters.at[kernel], number->argument - first) : "size";
  }
  if (begins(nest, "cublas"))
    return nth_word(pr, strncmp(nest->name + nest->len - 7, "Batched", 7) == 0 ? batched : plain, number->argument);
  if (begins(nest, "LIFETIME_END")) return "bytes";
  if (begins(nest, "cudaMem") || begins(nest, "ncclAllReduce")) return "elements";
  return "size";
}

// ---- reading -----------------------------------------------------------------------------------------------------

static void enter_nest(Reader *r, Piece *piece) {
  if (r->depth == 0) return;
  Open *open = &r->open[r->depth - 1];
  if (open->kept == NULL || open->kept->kernel != open->nest.kernel)
    open->kept = arena_copy(r->pr->arena, &open->nest, sizeof open->nest);
  piece->nest = open->kept;
  piece->argument = open->argument;
}

static void push_piece(Reader *r, PieceKind kind, const char *from, const char *to, int tensor) {
  if (from == to) return;
  Piece piece = {.kind = kind, .text = printer_text(r->pr, from, (size_t)(to - from)), .tensor = tensor};
  if (kind == PIECE_INTEGER || kind == PIECE_REAL) enter_nest(r, &piece);
  piece.shift = from - r->begin >= 2 && from[-1] == ' ' && from[-2] == '+';
  piece.factor = from - r->begin >= 2 && from[-1] == ' ' && from[-2] == '*';
  vec_push(r->pr->arena, &r->pr->pieces, piece);
}

// Where lines break depends on the lengths of names.
static void end_text(Reader *r, const char *at) {
  push_piece(r, PIECE_TEXT, r->start, at, -1);
  for (const char *c = r->start; c < at;) {
    size_t len = strcspn(c, " \n");
    if (len > (size_t)(at - c)) len = (size_t)(at - c);
    text_append(&r->pr->key, c, len);
    c += len;
    while (c < at && (*c == ' ' || *c == '\n')) c++;
  }
}

static void open_nest(Reader *r) {
  if (r->depth == MAX_NESTED) fatal("codegen: a step with too many parentheses");
  r->open[r->depth++] = (Open){.nest = {.name = r->word, .len = r->word_len}};
}

static const char *read_word(Reader *r, const char *at) {
  const char *end = at;
  while (is_word(*end)) end++;
  const bool member = at > r->start && at[-1] == '.';
  if (end - at == 1 && *at == 't' && *end == '.' && !member) {
    const char *name = end + 1, *name_end = name;
    while (is_word(*name_end)) name_end++;
    const int tensor = names_get_len(&r->pr->tensors, name, (size_t)(name_end - name));
    if (tensor < 0) fatal("codegen: a step uses %.*s, which is no tensor", (int)(name_end - at), at);
    end_text(r, at);
    push_piece(r, PIECE_TENSOR, at, name_end, tensor);
    text_printf(&r->pr->key, "\2%d", (int)r->pr->program->tensors.at[tensor].type);
    r->start = name_end;
    return name_end;
  }
  r->word = at;
  r->word_len = (int)(end - at);
  Open *open = r->depth > 0 ? &r->open[r->depth - 1] : NULL;
  if (open != NULL && open->argument == 0 && open->nest.kernel == NULL)
    open->nest.kernel = at, open->nest.kernel_len = (int)(end - at);
  return end;
}

static const char *read_number(Reader *r, const char *at) {
  const char *end = at;
  bool real = false;
  while (is_word(*end) || *end == '.' || ((*end == '-' || *end == '+') && (end[-1] == 'e'))) {
    real |= *end == '.' || *end == 'e' || *end == 'f';
    end++;
  }
  if (real && (end[-1] == 'f') == r->pr->program->model->f64) return end; // not of the program's type: an attribute
  end_text(r, at);
  push_piece(r, real ? PIECE_REAL : PIECE_INTEGER, at, end, -1);
  text_char(&r->pr->key, real ? '\4' : '\3');
  r->start = end;
  return end;
}

static const char *read_name(Reader *r, const char *at) {
  const char *end = strchr(at + 1, NAME_MARK);
  end_text(r, at);
  push_piece(r, PIECE_NAME, at + 1, end, -1);
  const size_t layer = strlen(r->out->scope); // what follows the layer is the same in all that share code
  const bool inside = layer > 0 && strncmp(at + 1, r->out->scope, layer) == 0 && at[1 + layer] == '.';
  const char *rest = inside ? at + 2 + layer : at + 1;
  text_printf(&r->pr->key, "\5%.*s", (int)(end - rest), rest);
  r->start = end + 1;
  return end + 1;
}

static const char *read_comment(Reader *r, const char *at) {
  const char *end = at + strcspn(at, "\n");
  if (*end == '\n') end++;
  end_text(r, at);
  push_piece(r, PIECE_COMMENT, at, end, -1);
  r->start = end;
  return end;
}

static const char *read_string(const char *at) {
  for (at++; *at != '"' && *at != '\0'; at++)
    if (*at == '\\') at++;
  return *at == '"' ? at + 1 : at;
}

static const char *read_line(Reader *r, const char *at) {
  const char *first = at + strspn(at, " ");
  if (first[0] == '/' && first[1] == '/') return read_comment(r, at);
  while (*at != '\n' && *at != '\0') {
    if (*at == NAME_MARK) at = read_name(r, at);
    else if (*at == '"') at = read_string(at);
    else if (isdigit((unsigned char)*at)) at = read_number(r, at);
    else if (is_word(*at)) at = read_word(r, at);
    else {
      if (*at == '(' || *at == '[') open_nest(r);
      if ((*at == ')' || *at == ']') && r->depth > 0) r->depth--;
      if (*at == ',' && r->depth > 0) r->open[r->depth - 1].argument++;
      if (*at != ' ') r->word_len = 0;
      at++;
    }
  }
  return *at == '\n' ? at + 1 : at;
}

Printed printer_read(Printer *pr, const char *scope, const char *text, const Text *kernels) {
  enter_kernels(pr, kernels);
  Printed out = {.scope = scope, .layer = scope, .name = ""};
  pr->pieces.len = 0;
  pr->key.len = 0;
  Reader r = {.pr = pr, .out = &out, .begin = text, .start = text};
  while (*text != '\0') {
    text = read_line(&r, text);
    out.lines++;
  }
  end_text(&r, text);
  out.pieces.len = out.pieces.cap = pr->pieces.len;
  out.pieces.at = arena_copy(pr->arena, pr->pieces.at, sizeof *pr->pieces.at * (size_t)pr->pieces.len);
  const char *key = pr->key.len > 0 ? text_str(&pr->key) : "";
  out.skeleton = names_get(&pr->skeletons, key);
  if (out.skeleton < 0) names_set_own(&pr->skeletons, arena_strdup(pr->arena, key), out.skeleton = pr->skeletons.len);
  return out;
}

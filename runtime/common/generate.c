#include "generate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "source.h"
#include "tokens_text.h"

enum { STREAM = 0x20000000 };

// The first token is drawn twice, with other values behind the prompt: a network that looks ahead cannot generate.
typedef enum { TRY, TRY_AGAIN, DRAW } Stage;

static struct {
  long *token; // the prompt, then what was drawn
  long n, to;  // tokens there are, and will be
  Stage stage;
  double *logits, *first_logits; // of the token after the window; first_logits: of the first try
  char *pinned;
  cudaEvent_t copied;
} text;

static const ParccInput *stream(void) { return &run.model->inputs[run.model->sampled]; }

static long window_length(void) { return stream()->extent[1]; }

static bool check_model(Fault *fault) {
  if (run.model->sampled < 0)
    return fault_set(
        fault, FAIL_MISUSE,
        "--sample: the model is no language model: it has no line sample INPUT = LOGITS, which says what the next "
        "value of an input is drawn from");
  if (run.model->ranks > 1)
    return fault_set(
        fault, FAIL_MISUSE,
        "--sample: text is generated on one rank; make a program for one (parcc --ranks=1), which --load takes any "
        "checkpoint into");
  return true;
}

bool generate_open(Fault *fault) {
  if (run.options.sample == NULL || fault->code != FAIL_NONE) return fault->code == FAIL_NONE;
  if (!check_model(fault) || !tokens_text_open(stream(), run.options.data, fault)) return false;
  if (!tokens_of_text(run.options.sample, &text.token, &text.n, fault)) return false;
  text.to = text.n + run.options.tokens;
  text.token = realloc(text.token, (size_t)text.to * sizeof *text.token);
  text.logits = calloc((size_t)stream()->range, sizeof *text.logits);
  text.first_logits = calloc((size_t)stream()->range, sizeof *text.logits);
  if (text.token == NULL || text.logits == NULL || text.first_logits == NULL)
    return fault_set(fault, FAIL_RUN, "out of memory");
  return true;
}

// The window ends with the last token; where there are fewer than it holds, it is filled up with anything.
static int window_value(size_t position) {
  const long shift = text.n > window_length() ? text.n - window_length() : 0, at = (long)position + shift;
  if (at < text.n) return (int)text.token[at];
  return text.stage == TRY_AGAIN ? (int)(stream()->range - 1) : 0;
}

void generate_copy(int input, size_t first, size_t count, void *dst) {
  const ParccInput *declared = &run.model->inputs[input];
  memset(dst, 0, count * type_bytes(declared->type));
  if (input != run.model->sampled) return;
  for (size_t i = 0; i < count; i++) ((int *)dst)[i] = window_value(first + i);
}

static void begin(void) {
  const size_t bytes = (size_t)stream()->range * type_bytes(run.model->real);
  void *pinned;
  CHECK_CUDA(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault));
  CHECK_CUDA(cudaEventCreateWithFlags(&text.copied, cudaEventDisableTiming));
  text.pinned = pinned;
  for (long i = 0; i < text.n; i++) tokens_print(text.token[i]);
  text.stage = text.n < window_length() ? TRY : DRAW;
}

long parcc_next_token(void) {
  if (run.options.sample == NULL || text.n == text.to) return 0;
  if (text.pinned == NULL) begin();
  run.generating = true;
  run.eval_count = run.model->whole_batches != NULL ? run.model->batch : 1;
  return run.eval_count;
}

// The numbers at the last token of the window, of the first sample.
static void receive(const void *logits) {
  const long last = (text.n < window_length() ? text.n : window_length()) - 1;
  const size_t range = (size_t)stream()->range, size = type_bytes(run.model->real);
  const char *from = (const char *)logits + (size_t)last * range * size;
  CHECK_CUDA(cudaMemcpyAsync(text.pinned, from, range * size, cudaMemcpyDeviceToHost, parcc.compute));
  CHECK_CUDA(cudaEventRecord(text.copied, parcc.compute));
  device_wait(text.copied);
  for (size_t i = 0; i < range; i++)
    text.logits[i] = size == 8 ? ((const double *)text.pinned)[i] : (double)((const float *)text.pinned)[i];
  for (size_t i = 0; i < range; i++)
    if (isnan(text.logits[i]) || text.logits[i] == INFINITY)
      fail_together(FAIL_RUN, "--sample: token %ld: what it is drawn from is %s", text.n,
                    isnan(text.logits[i]) ? "not a number" : "infinite");
}

// Rounding aside, what stands behind the prompt must not matter.
static void check_causality(void) {
  double low = INFINITY, high = -INFINITY, apart = 0;
  for (long i = 0; i < stream()->range; i++) {
    low = fmin(low, text.logits[i]);
    high = fmax(high, text.logits[i]);
    if (text.logits[i] != text.first_logits[i]) apart = fmax(apart, fabs(text.logits[i] - text.first_logits[i]));
  }
  if (apart > 1e-3 * (high - low))
    fail_together(
        FAIL_RUN,
        "--sample: the model looks ahead: what comes after the prompt depends on tokens behind it, which are not "
        "there yet");
}

// Softmax of logits / temperature; temperature 0: the largest, the first of equals.
static long draw(void) {
  const long range = stream()->range;
  const double temperature = run.options.temperature;
  long best = 0;
  for (long i = 1; i < range; i++)
    if (text.logits[i] > text.logits[best]) best = i;
  if (temperature == 0) return best;
  const double top = text.logits[best];
  double sum = 0;
  for (long i = 0; i < range; i++) sum += text.logits[i] = exp((text.logits[i] - top) / temperature);
  double left = parcc_uniform(run.options.seed, 0x80000000u + STREAM, 0, (unsigned long long)text.n) * sum;
  for (long i = 0; i < range; i++)
    if ((left -= text.logits[i]) < 0) return i;
  return best; // rounding
}

void parcc_end_token(const void *logits) {
  receive(logits);
  if (text.stage == TRY) {
    memcpy(text.first_logits, text.logits, (size_t)stream()->range * sizeof *text.logits);
    text.stage = TRY_AGAIN;
    return;
  }
  if (text.stage == TRY_AGAIN) check_causality();
  text.stage = DRAW;
  text.token[text.n] = draw();
  tokens_print(text.token[text.n++]);
}

void generate_end(void) { tokens_print_end(); }

void generate_close(void) {
  if (text.pinned != NULL) {
    CHECK_CUDA(cudaFreeHost(text.pinned));
    CHECK_CUDA(cudaEventDestroy(text.copied));
  }
  tokens_text_close();
  free(text.token);
  free(text.logits);
  free(text.first_logits);
  memset(&text, 0, sizeof text);
}

// Progress on stderr: one line that is drawn again and again on a terminal, about twenty lines a run elsewhere.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fail.h"
#include "report.h"

static bool terminal, colour;
static double began, drawn;
static const double seconds_between_drawings = 0.1;

void progress_start(void) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  terminal = isatty(STDERR_FILENO) && term != NULL && term[0] != '\0';
  colour = terminal && (no_color == NULL || no_color[0] == '\0');
  began = clock_seconds();
}

static void draw(const StepReport *report, double now) {
  const long done = report->step + 1;
  const double speed = (double)(done - run.resumed.from.step) / (now - began), left = (double)(parcc.steps - done) / speed;
  fprintf(stderr, "\r\033[K%s%s%s  step %ld/%ld  loss %.6g  %.0f samples/s  %.0f s left", colour ? "\033[1m" : "",
          run.model->name, colour ? "\033[0m" : "", done, parcc.steps, report->scalars[0],
          speed * (double)run.model->batch, left);
  fail_set_open_line(true);
  fflush(stderr);
  drawn = now;
}

static void print(const StepReport *report, double now) {
  const long done = report->step + 1;
  char text[1000];
  int at = snprintf(text, sizeof text, "%s: step %ld/%ld  loss %.6g  lr %.3g", run.model->name, done, parcc.steps,
                    report->scalars[0], report->lr);
  if (report->norm != NULL && at < (int)sizeof text)
    at += snprintf(text + at, sizeof text - (size_t)at, "  gradient %.3g", *report->norm);
  for (int i = 1; i < run.model->n_scalars && at < (int)sizeof text; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "  %s %.6g", run.model->scalars[i], report->scalars[i]);
  fprintf(stderr, "%s  %.0f samples/s\n", text, (double)(done - run.resumed.from.step) * (double)run.model->batch / (now - began));
}

void progress_step(const StepReport *report) {
  const double now = clock_seconds();
  if (run.options.quiet) return;
  if (terminal && (now - drawn >= seconds_between_drawings || report->step + 1 == parcc.steps)) draw(report, now);
  if (!terminal && report_is_milestone(report->step)) print(report, now);
}

void progress_measured(const char *what, int done, int all) {
  const double now = clock_seconds();
  if (!terminal || run.measures_quietly || now - drawn < seconds_between_drawings) return;
  fprintf(stderr, "\r\033[K%s%s%s  %s %d/%d", colour ? "\033[1m" : "", run.model->name, colour ? "\033[0m" : "", what, done, all);
  fail_set_open_line(true);
  fflush(stderr);
  drawn = now;
}

void progress_end(void) {
  if (terminal && drawn > 0) fputs("\r\033[K", stderr);
  fail_set_open_line(false);
}

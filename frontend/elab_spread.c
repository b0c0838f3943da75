// How often values of an input come up: ~ uniform, ~ zipf(exponent).
#include "elab.h"

static const char *const EXPECTED = "expected 'uniform' or 'zipf(exponent)', such as zipf(1.05)";

static bool read_exponent(Elab *e, const AstExpr *call, double *exponent) {
  static const double MOST = 100;
  const AstArg *arg = call->args.len == 1 ? &call->args.at[0] : NULL;
  if (arg == NULL || (arg->name != NULL && !str_eq(arg->name, "exponent"))) {
    elab_error(e, call->loc, "%s", EXPECTED);
    return false;
  }
  const Value v = elab_expr(e, arg->value);
  if (is_error(v)) return false;
  *exponent = v.kind == VALUE_NUMBER ? v.number : -1;
  if (*exponent >= 0 && *exponent <= MOST) return true;
  elab_error(e, arg->loc, "the exponent of 'zipf' is a number from 0 to %.0f, found %s", MOST, value_describe(e, v));
  return false;
}

const Spread *elab_spread(Elab *e, const AstDecl *decl, int64_t range) {
  const AstExpr *said = decl->spread;
  double exponent = 0;
  if (said == NULL || said->kind == AST_ERROR) return NULL;
  const bool uniform = said->kind == AST_NAME && str_eq(said->text, "uniform");
  if (range == 0) {
    elab_error(e, said->loc, "only integers below a number can be spread: '%s' is no 'int < n'", decl->name);
    return NULL;
  }
  if (!uniform && (said->kind != AST_CALL || !str_eq(said->text, "zipf"))) {
    elab_error(e, said->loc, "%s", EXPECTED);
    return NULL;
  }
  if (!uniform && !read_exponent(e, said, &exponent)) return NULL;
  Spread *spread = NEW(e->arena, Spread);
  *spread = uniform ? spread_uniform(e->arena, (double)range) : spread_power(e->arena, (double)range, exponent);
  return spread;
}

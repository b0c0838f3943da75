// Limits on sums of weights, by Lagrange multipliers (Everett, 1963; Geoffrion, 1974): a weight beyond its variable's least has
// a price, and what the limits leave is given back, so that the cheapest assignment at any prices is a lower bound. The prices
// that give the greatest bound are bracketed and bisected, one limit after the other; every assignment met on the way is a
// candidate, after its variables were changed one by one. Values that the best prices show to be in no better assignment are
// removed, as long as there are some (reduced costs); the gap that is left is closed by branch and bound with the bounds of the
// best prices. A bound above all costs proves that nothing is allowed.
#include "cfn_net.h"

static const double ROOM = 1 << 20;

typedef struct Prices {
  Net *net;
  Incumbent *best;
  double left[CFN_MAX_LIMITS]; // of the limits, beside the least weights
  Multipliers by;    // the best
  Elimination *done; // at them
  double bound;      // of them, in units
} Prices;

static double least_of(const NetTable *weight) {
  double least = INFINITY;
  for (int64_t k = 0; k < weight->size; k++) least = weight->at[k] < least ? weight->at[k] : least;
  return least;
}

static const NetTable **priced(Prices *prices, const Multipliers *by) {
  Net *net = prices->net;
  const NetTable **cost = NEW_ARRAY(net->arena, const NetTable *, net->n_vars);
  for (int x = 0; x < net->n_vars; x++) {
    const NetVar *v = &net->vars[x];
    double *at = NEW_ARRAY(net->scratch, double, v->n), least[CFN_MAX_LIMITS];
    for (int l = 0; l < net->n_limits; l++) least[l] = least_of(v->weight[l]);
    for (int k = 0; k < v->n; k++) {
      double price = 0;
      for (int l = 0; l < net->n_limits; l++) price += by->by[l] * (v->weight[l]->at[k] - least[l]);
      at[k] = v->cost->at[k] + floor(price * (1 - 1e-15)); // never more than the price, so that bounds stay bounds
    }
    cost[x] = net_table(net, 1, &v->n, at);
    arena_reset(net->scratch);
  }
  return cost;
}

static double weight_of(const Net *net, int limit, const int *at) {
  double sum = 0;
  for (int x = 0; x < net->n_vars; x++) sum += net->vars[x].weight[limit]->at[at[x]];
  return sum;
}

// Eliminates at these prices and keeps the best bound. Gives whether the assignment keeps limit l (or there is none): then the
// price is high enough.
static bool try_price(Prices *prices, Multipliers by, int l) {
  Net *net = prices->net;
  by.offset = 0;
  for (int k = 0; k < net->n_limits; k++) by.offset += by.by[k] * prices->left[k];
  by.offset = ceil(by.offset * (1 + 1e-15));
  const double worst = fmin(net->worst, prices->best->units) + by.offset;
  Elimination *done = net_eliminate(net, net->arena, priced(prices, &by), worst, ROOM, -1);
  const double bound = done->bound - by.offset;
  if (bound > prices->bound || prices->done == NULL) prices->by = by, prices->done = done, prices->bound = bound;
  if (done->bound == INFINITY) return true;
  int *at = NEW_ARRAY(net->arena, int, net->n_vars);
  if (net_search(net, done, &by, prices->best, 0, at) == INFINITY) return true;
  const bool keeps = weight_of(net, l, at) <= net->cfn->limit[l];
  net_offer(net, prices->best, at);
  net_descend(net, at);
  net_offer(net, prices->best, at);
  return keeps;
}

static bool proved(const Prices *prices) { return prices->bound >= prices->best->units; }

static void bisect(Prices *prices, int l) {
  enum { STEPS = 12 };
  static const double MOST = 0x1p51; // sums stay exact
  Net *net = prices->net;
  Multipliers by = prices->by;
  double low = 0, high = 0;
  const double scale = fmax(prices->left[l], net->cfn->limit[l] * 1e-6);
  for (double step = net->worst / 64 / fmax(scale, 1e-300); high == 0; step *= 8) {
    by.by[l] = step;
    if (step * prices->left[l] > MOST || !(step * scale <= MOST) || net_spent(net)) return;
    if (try_price(prices, by, l)) high = step;
    else low = step;
    if (proved(prices)) return;
  }
  for (int i = 0; i < STEPS && !proved(prices) && !net_spent(net); i++) {
    by.by[l] = (low + high) / 2;
    if (try_price(prices, by, l)) high = by.by[l];
    else low = by.by[l];
  }
}

// What the limits leave beside the least weights; false: less than nothing.
static bool set_left(Prices *prices) {
  const Net *net = prices->net;
  for (int l = 0; l < net->n_limits; l++) {
    double least = 0;
    for (int x = 0; x < net->n_vars; x++) least += least_of(net->vars[x].weight[l]);
    if (least > net->cfn->limit[l] * (1 + 1e-12)) return false;
    prices->left[l] = fmax(net->cfn->limit[l] - least, 0);
  }
  return true;
}

static void find_prices(Prices *prices) {
  Net *net = prices->net;
  prices->done = NULL;
  try_price(prices, prices->by, 0);
  for (int round = 0; round < 2 && !proved(prices); round++)
    for (int l = 0; l < net->n_limits; l++)
      if (round == 0 || net->n_limits > 1) bisect(prices, l);
}

double net_solve_limits(Net *net, Incumbent *best) {
  enum { ROUNDS = 8 };
  if (net->constant == INFINITY) return best->units;
  Prices prices = {.net = net, .best = best};
  double bound = -INFINITY;
  if (!set_left(&prices)) return best->units;
  net_reduce(net);
  for (int round = 0; round < ROUNDS && net->constant < INFINITY; round++) {
    find_prices(&prices);
    bound = fmax(bound, prices.bound);
    if (proved(&prices) || net_spent(net)) break;
    if (net_narrow(net, prices.done, &prices.by, best) == 0) break;
    if (!set_left(&prices)) return best->units;
    net_reduce(net);
  }
  if (net->constant == INFINITY || proved(&prices)) return best->units;
  const double searched = net_search(net, prices.done, &prices.by, best, -1, NULL);
  return fmax(searched, fmin(bound, best->units));
}

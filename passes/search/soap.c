#include "soap.h"

#include <math.h>

// ---- random numbers ------------------------------------------------------------------------------------------------

// Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
static uint64_t draw_next(Draw *draw) {
  uint64_t z = draw->state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

uint64_t draw_below(Draw *draw, uint64_t n) { return draw_next(draw) % n; }
double draw_share(Draw *draw) { return (double)(draw_next(draw) >> 11) * 0x1p-53; }

// ---- configurations ------------------------------------------------------------------------------------------------

// A dimension of the layer, nothing, or a pin.
static signed char choice_number(const Layer *layer, int k) {
  const int dims = layer->dims.len;
  return (signed char)(k < dims ? k : k == dims ? -1 : CONFIGURATION_PIN - (k - dims - 1));
}

int soap_choices(const Layer *layer, const Mesh *mesh, int axis) { return mesh->axis[axis].size > 1 ? layer->dims.len + 1 + mesh->axis[axis].size : 0; }

static signed char draw_choice(Draw *draw, const Layer *layer, const Mesh *mesh, int axis) {
  const int n = soap_choices(layer, mesh, axis);
  return n == 0 ? -1 : choice_number(layer, (int)draw_below(draw, (uint64_t)n));
}

// Whether all blocks are equal; notes which axes are used.
static bool divides(Configuration *c, const Layer *layer, const Mesh *mesh) {
  c->used = 0;
  for (int d = 0; d < layer->dims.len; d++) {
    int64_t parts = 1;
    for (int a = 0; a < mesh->n_axes; a++)
      if (c->dim[a] == d) parts *= mesh->axis[a].size, c->used |= 1u << a;
    if (layer->dims.at[d].extent % parts != 0) return false;
  }
  return true;
}

static Configuration nothing(void) {
  Configuration c = {.used = 0};
  for (int a = 0; a < MESH_MAX_AXES; a++) c.dim[a] = -1;
  return c;
}

Configuration soap_draw(Draw *draw, const Layer *layer, const Mesh *mesh) {
  Configuration c = nothing();
  do {
    for (int a = 0; a < mesh->n_axes; a++) c.dim[a] = draw_choice(draw, layer, mesh, a);
  } while (!divides(&c, layer, mesh));
  return c;
}

Configuration soap_draw_axis(Draw *draw, const Layer *layer, const Mesh *mesh, const Configuration *from) {
  const int a = (int)draw_below(draw, (uint64_t)mesh->n_axes);
  Configuration c = *from;
  c.dim[a] = draw_choice(draw, layer, mesh, a);
  return divides(&c, layer, mesh) ? c : *from;
}

bool soap_follow(const Layer *layer, const Mesh *mesh, const Configuration *from, const Configuration *to, Configuration *c) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (from->dim[a] == to->dim[a]) continue;
    if (c->dim[a] != from->dim[a] || to->dim[a] >= layer->dims.len) return false;
    c->dim[a] = to->dim[a];
  }
  return divides(c, layer, mesh);
}

static signed char dim_read(const Access *read, int n_dims, int tensor_dim) {
  for (int d = 0; d < n_dims; d++)
    if (read->dim[d] == tensor_dim) return (signed char)d;
  return -1;
}

SoapLink soap_link(const LayerCosts *costs, int from, int to) {
  const Layers *layers = costs->layers;
  const int n_from = layers->list.at[from].dims.len, n_to = layers->list.at[to].dims.len;
  SoapLink link = {.linked = false};
  memset(link.dim, -1, sizeof link.dim);
  for (int e = 0; e < layers->edges.len; e++) {
    const LayerEdge *edge = &layers->edges.at[e];
    if (edge->from != from || edge->to != to) continue;
    const Access made = layer_access_made(costs, edge), read = layer_access_read(costs, edge);
    for (int d = 0; d < n_from; d++)
      if (made.dim[d] >= 0 && link.dim[d] < 0) link.dim[d] = dim_read(&read, n_to, made.dim[d]);
    link.linked = true;
  }
  return link;
}

// What the other layer does where this one does so: -1 also where it divides what the other one has whole.
static signed char linked_choice(const SoapLink *link, signed char choice) { return choice < 0 ? choice : link->dim[choice]; }

bool soap_follow_linked(const Layer *layer, const Mesh *mesh, const SoapLink *link, const Configuration *from, const Configuration *to, Configuration *c) {
  for (int a = 0; a < mesh->n_axes; a++) {
    if (from->dim[a] == to->dim[a]) continue;
    if (c->dim[a] != linked_choice(link, from->dim[a])) return false;
    c->dim[a] = linked_choice(link, to->dim[a]);
  }
  return divides(c, layer, mesh);
}

bool soap_choose(const Layer *layer, const Mesh *mesh, int axis, int k, Configuration *c) {
  const signed char was = c->dim[axis];
  c->dim[axis] = choice_number(layer, k);
  return c->dim[axis] != was && divides(c, layer, mesh);
}

// ---- plans ---------------------------------------------------------------------------------------------------------

// What a layer does along an axis, by the first of its operators that says so.
static signed char choice_by_ops(const LayerCosts *costs, const Layer *layer, int axis) {
  for (int i = 0; i < layer->ops.len; i++) {
    const Op *op = &costs->graph->ops.at[layer->ops.at[i]];
    const OpDims *dims = &costs->layers->of_op[layer->ops.at[i]];
    if (op->phase != PHASE_FORWARD || op->kind == OP_VIEW) continue;
    if (op->sharding.pin[axis] >= 0) return (signed char)(CONFIGURATION_PIN - op->sharding.pin[axis]);
    for (int d = 0; d < layer->dims.len; d++)
      if (op->sharding.dim[axis] >= 0 && dims->dim[d] == op->sharding.dim[axis]) return (signed char)d;
  }
  return -1;
}

Configuration *soap_of_plan(Arena *arena, const LayerCosts *costs, const Plan *plan) {
  const Layers *layers = costs->layers;
  Configuration *of = NEW_ARRAY(arena, Configuration, layers->list.len);
  Mesh mesh = plan->mesh;
  mesh.axis[mesh.n_axes++] = (MeshAxis){"batch", 1};
  Planner planner = planner_with(arena, layers->groups->planner, plan, &mesh);
  plan_resolve_stored(&planner);
  plan_settle(&planner, costs->graph);
  for (int l = 0; l < layers->list.len; l++) {
    of[l] = nothing();
    for (int a = plan->mesh.n_axes - 1; a >= 0; a--) {
      of[l].dim[a] = choice_by_ops(costs, &layers->list.at[l], a);
      if (!divides(&of[l], &layers->list.at[l], &plan->mesh)) of[l].dim[a] = -1;
    }
    divides(&of[l], &layers->list.at[l], &plan->mesh);
  }
  return of;
}

// ---- how many there are --------------------------------------------------------------------------------------------

// Numbers of parts of the dimensions from `dim` on, with `parts` of those before: of each product the ways to give its parts devices, as a
// power of ten of their sum.
static double size_from(const Layer *layer, int dim, int64_t parts, int devices) {
  if (dim == layer->dims.len) return (double)parts * log10(devices);
  double most = -INFINITY, sum = 0;
  for (int64_t k = 1; k * parts <= devices; k++) {
    if (layer->dims.at[dim].extent % k != 0) continue;
    const double size = size_from(layer, dim + 1, parts * k, devices);
    sum = size > most ? sum * pow(10, most - size) + 1 : sum + pow(10, size - most);
    most = fmax(most, size);
  }
  return most + log10(sum);
}

// Of the axes from `axis` on; without those on which all do the same.
static double count_on_mesh(const Layer *layer, const Mesh *mesh, int axis, Configuration *c) {
  if (axis == mesh->n_axes) return 1;
  double n = 0;
  for (int d = 0; d < layer->dims.len; d++) {
    c->dim[axis] = (signed char)d;
    if (divides(c, layer, mesh)) n += count_on_mesh(layer, mesh, axis + 1, c);
  }
  c->dim[axis] = -1;
  return n + mesh->axis[axis].size * count_on_mesh(layer, mesh, axis + 1, c);
}

SoapSize soap_size(const Layers *layers, const Mesh *mesh) {
  SoapSize size = {0, 0};
  for (int l = 0; l < layers->list.len; l++) {
    Configuration c = nothing();
    size.all += size_from(&layers->list.at[l], 0, 1, mesh_ranks(mesh));
    size.on_mesh += log10(count_on_mesh(&layers->list.at[l], mesh, 0, &c));
  }
  return size;
}

#include "transfer.h"

// fmin and fmax are calls, for the sake of what is no number.
static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

// Elements of the largest of so many blocks of a dimension; the part of it that lies within one of as many blocks of equal size.
typedef struct Length { double all, inner; } Length;

static int64_t block_length(const Cut *cut, int parts, int number, int64_t extent) {
  const Block units = block_of(cut->units, 1, parts, number);
  const int64_t lo = cut->scale * units.lo - cut->before, hi = cut->scale * (units.lo + units.len - 1) + cut->after;
  return min_i64(hi < 0 ? -1 : hi / cut->div, extent - 1) - (lo < 0 ? 0 : lo / cut->div) + 1;
}

// Within the first and the last block windows end; between them all are alike.
static Length length_of(const Cut *cut, int parts, int64_t extent) {
  const double equal = (double)extent / parts;
  if (parts == 1) return (Length){equal, equal};
  int64_t most = max_i64(0, block_length(cut, parts, 0, extent));
  if (parts > 2) most = max_i64(most, block_length(cut, parts, parts / 2, extent));
  most = max_i64(most, block_length(cut, parts, parts - 1, extent));
  return (Length){(double)most, smaller((double)most, equal)};
}

// Blocks that reach around those of the tensor, by a window at most, and are not shifted against them.
static bool is_in_place(const Cut *cut, int64_t extent) {
  const int64_t window = cut->before + cut->after + cut->scale, range = cut->scale * cut->units, whole = cut->div * extent;
  return (range > whole ? range - whole : whole - range) <= window && cut->before >= -window && cut->after >= -window;
}

// A region as it is looked at again and again.
typedef struct Part {
  uint32_t used, axes[LAYOUT_MAX_RANK];
  Length length[LAYOUT_MAX_RANK];
  bool shifted[LAYOUT_MAX_RANK]; // against the blocks of the tensor
  double elements;
} Part;

static Part *parts_of(Arena *scratch, const CostModel *model, const Tensor *t, int n, const Region *regions) {
  Part *parts = NEW_ARRAY(scratch, Part, n);
  for (int i = 0; i < n; i++) {
    parts[i].used = regions[i].used;
    parts[i].elements = 1;
    for (int d = 0; d < t->rank; d++) {
      const RegionDim *dim = &regions[i].dim[d];
      const Length length = length_of(&dim->cut, model->links[dim->axes].ranks, t->extent[d]);
      parts[i].axes[d] = dim->axes;
      parts[i].length[d] = length;
      parts[i].shifted[d] = dim->axes != 0 && !is_in_place(&dim->cut, t->extent[d]);
      parts[i].elements *= length.all;
    }
  }
  return parts;
}

static uint32_t lowest(uint32_t axes) { return axes & -axes; }

// Blocks over some axes are parts of those over the first of these axes; any others miss each other somewhere.
static bool are_nested(uint32_t a, uint32_t b) {
  const uint32_t more = a ^ b, both = a & b;
  return more == 0 || (((more & a) == more || (more & b) == more) && lowest(more) > both);
}

// What is there, within units that some axes keep apart, of what is needed, where it is least.
static double elements_there(const CostModel *model, const Tensor *t, const Part *made, const Part *needed, uint32_t between) {
  double elements = 1;
  if ((needed->used & ~made->used & between) != 0) return 0;
  for (int d = 0; d < t->rank; d++) {
    const uint32_t axes = made->axes[d] & between;
    if (!are_nested(axes, needed->axes[d]) || (axes != 0 && needed->shifted[d])) return 0;
    elements *= axes == 0 ? needed->length[d].all : smaller((double)t->extent[d] / model->links[axes].ranks, needed->length[d].inner);
  }
  return elements;
}

// Axes that keep the units of a level apart: those within a unit do not.
static uint32_t axes_between(const Mesh *mesh, int unit) {
  uint32_t axes = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    if (mesh->axis[a].size > 1 && mesh_stride(mesh, a) * mesh->axis[a].size > unit) axes |= 1u << a;
  return axes;
}

void transfer_seconds(Arena *scratch, const CostModel *model, const Tensor *tensor, int n, const Region *made, int m,
                      const Region *needed, double *seconds) {
  const Part *from = parts_of(scratch, model, tensor, n, made), *to = parts_of(scratch, model, tensor, m, needed);
  for (int i = 0; i < n * m; i++) seconds[i] = 0;
  for (int l = 0; l < model->machine->n_levels; l++) {
    const MachineLevel *level = &model->machine->level[l];
    const double each = cost_element(model, tensor->type) / level->bandwidth;
    const uint32_t between = axes_between(model->mesh, machine_unit(model->machine, l - 1)), apart = level->shared ? between : ~0u;
    for (int j = 0; j < m; j++) {
      const double receivers = model->links[to[j].used & apart].ranks; // links, and the devices that receive over one of them
      const double devices = level->shared ? model->links[to[j].used & ~between].ranks : 1;
      for (int i = 0; i < n; i++) {
        const double missing = to[j].elements - elements_there(model, tensor, &from[i], &to[j], between);
        const double most = missing * devices * larger(1, receivers / model->links[from[i].used & apart].ranks);
        seconds[i * m + j] = larger(seconds[i * m + j], most * each);
      }
    }
  }
}

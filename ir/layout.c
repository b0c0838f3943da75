#include "layout.h"

const char *mesh_add_axis(Arena *arena, Mesh *mesh, const char *name, int64_t size) {
  static const char *const taken[] = {"batch", "ranks", "pin", "replicate", "pending", "follow"}; // words of programs and of plans
  if (mesh->n_axes == MESH_MAX_AXES - 1) return arena_printf(arena, "at most %d axes", MESH_MAX_AXES - 1);
  if (mesh_find(mesh, name) >= 0) return arena_printf(arena, "two axes are named '%s'", name);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (str_eq(name, taken[i])) return arena_printf(arena, "an axis cannot be named '%s'", name);
  if (size < 1) return "an axis has a size of at least 1";
  if (size > MESH_MAX_RANKS || size * mesh_ranks(mesh) > MESH_MAX_RANKS) return arena_printf(arena, "more than %d ranks", MESH_MAX_RANKS);
  mesh->axis[mesh->n_axes++] = (MeshAxis){name, (int)size};
  return NULL;
}

enum { MAX_FACTORS = 16 }; // of a number of ranks

typedef struct Factors {
  int n, at[MAX_FACTORS]; // larger ones first
} Factors;

static void put_factor(Factors *f, int factor) {
  int i = f->n++;
  for (; i > 0 && f->at[i - 1] < factor; i--) f->at[i] = f->at[i - 1];
  f->at[i] = factor;
}

static Factors factors_of(int size) {
  Factors f = {0, {0}};
  for (int factor = 2; size > 1; factor++)
    for (; size % factor == 0; size /= factor) put_factor(&f, factor);
  if (f.n == 0) put_factor(&f, 1);
  return f;
}

const char *mesh_name_factor(Arena *arena, const Mesh *mesh, int axis, int number, int of) {
  const char *name = mesh->axis[axis].name;
  if (of == 1) return name;
  const char *numbered = arena_printf(arena, "%s%d", name, number);
  while (mesh_find(mesh, numbered) >= 0) numbered = arena_printf(arena, "%s_", numbered);
  return numbered;
}

Mesh mesh_factors(Arena *arena, const Mesh *mesh, int most) {
  Factors of[MESH_MAX_AXES];
  Mesh factored = {.partial_batches = mesh->partial_batches};
  int n = 0;
  for (int a = 0; a < mesh->n_axes; a++) n += (of[a] = factors_of(mesh->axis[a].size)).n;
  for (int a = mesh->n_axes - 1; a >= 0; a--)
    for (; n > most && of[a].n > 1; n--) {
      of[a].n -= 2;
      put_factor(&of[a], of[a].at[of[a].n] * of[a].at[of[a].n + 1]);
    }
  for (int a = 0; a < mesh->n_axes; a++)
    for (int i = 0; i < of[a].n; i++)
      factored.axis[factored.n_axes++] = (MeshAxis){mesh_name_factor(arena, mesh, a, i + 1, of[a].n), of[a].at[i]};
  return factored;
}

int mesh_find(const Mesh *mesh, const char *axis) {
  for (int a = 0; a < mesh->n_axes; a++)
    if (str_eq(mesh->axis[a].name, axis)) return a;
  return -1;
}

const char *mesh_text(Arena *arena, const Mesh *mesh) {
  Text text = {.arena = arena};
  for (int a = 0; a < mesh->n_axes; a++)
    text_printf(&text, "%s%s=%d", a > 0 ? "," : "", mesh->axis[a].name, mesh->axis[a].size);
  return text_str(&text);
}

const char *mesh_axes_text(Arena *arena, const Mesh *mesh, uint32_t axes) {
  Text text = {.arena = arena};
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1) text_printf(&text, "%s%s", text.len > 0 ? "," : "", mesh->axis[a].name);
  return text_str(&text);
}

int mesh_ranks(const Mesh *mesh) {
  int ranks = 1;
  for (int a = 0; a < mesh->n_axes; a++) ranks *= mesh->axis[a].size;
  return ranks;
}

int mesh_stride(const Mesh *mesh, int axis) {
  int stride = 1;
  for (int a = axis + 1; a < mesh->n_axes; a++) stride *= mesh->axis[a].size;
  return stride;
}

int mesh_coordinate(const Mesh *mesh, int rank, uint32_t axes) {
  int coordinate = 0, scale = 1;
  for (int a = mesh->n_axes - 1; a >= 0; a--) {
    const int size = mesh->axis[a].size;
    if (axes >> a & 1) {
      coordinate += rank % size * scale;
      scale *= size;
    }
    rank /= size;
  }
  return coordinate;
}

int mesh_parts(const Mesh *mesh, uint32_t axes) {
  int parts = 1;
  for (int a = 0; a < mesh->n_axes; a++)
    if (axes >> a & 1) parts *= mesh->axis[a].size;
  return parts;
}

int mesh_rank_at(const Mesh *mesh, uint32_t axes, int coordinate) {
  int rank = 0, stride = 1;
  for (int a = mesh->n_axes - 1; a >= 0; a--) {
    const int size = mesh->axis[a].size;
    if (axes >> a & 1) {
      rank += coordinate % size * stride;
      coordinate /= size;
    }
    stride *= size;
  }
  return rank;
}

OpSharding sharding_replicate(void) {
  OpSharding sharding;
  for (int a = 0; a < MESH_MAX_AXES; a++) {
    sharding.dim[a] = sharding.pin[a] = -1;
    sharding.unit[a] = 1;
    sharding.pending[a] = false;
  }
  return sharding;
}

const Layout layout_replicated = {0};

Cut cut_plain(int64_t extent, int64_t unit) { return (Cut){extent / unit, unit, 0, unit - 1, 1}; }

bool cut_is_plain(const Cut *cut, int64_t extent) {
  return cut->div == 1 && cut->before == 0 && cut->after == cut->scale - 1 && cut->units * cut->scale == extent;
}

uint32_t layout_axes_of(const Layout *layout, int n_axes, int dim) {
  uint32_t axes = 0;
  for (int a = 0; a < n_axes; a++)
    if (layout->axis[a].kind == LAYOUT_SHARD && layout->axis[a].dim == dim) axes |= 1u << a;
  return axes;
}

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// What of the extent goes with a block of units.
static Block reach_of(const Cut *cut, Block units, int64_t extent) {
  if (units.len == 0) return (Block){0, 0};
  const int64_t first = max_i64(0, floor_div(cut->scale * units.lo - cut->before, cut->div));
  const int64_t last = min_i64(extent - 1, floor_div(cut->scale * (units.lo + units.len - 1) + cut->after, cut->div));
  return last < first ? (Block){0, 0} : (Block){first, last - first + 1};
}

static Block part_of(Block units, int parts, int index) {
  const Block part = block_of(units.len, 1, parts, index);
  return (Block){units.lo + part.lo, part.len};
}

Block cut_block(const Mesh *mesh, int rank, uint32_t axes, const Cut *cut, int64_t extent) {
  if (cut->units == 0) return (Block){0, extent};
  Block block = {0, cut->units};
  int at[MESH_MAX_AXES];
  for (int a = mesh->n_axes - 1; a >= 0; a--) {
    at[a] = rank % mesh->axis[a].size;
    rank /= mesh->axis[a].size;
  }
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    block = part_of(block, mesh->axis[a].size, at[a]);
  }
  return reach_of(cut, block, extent);
}

void cut_blocks(const Mesh *mesh, uint32_t axes, const Cut *cut, int64_t extent, Block *blocks) {
  int n = 1;
  blocks[0] = (Block){0, cut->units};
  for (int a = 0; a < mesh->n_axes; a++) {
    if (!(axes >> a & 1)) continue;
    const int size = mesh->axis[a].size;
    for (int i = n - 1; i >= 0; i--)
      for (int k = size - 1; k >= 0; k--) blocks[i * size + k] = part_of(blocks[i], size, k);
    n *= size;
  }
  for (int i = 0; i < n; i++) blocks[i] = cut->units == 0 ? (Block){0, extent} : reach_of(cut, blocks[i], extent);
}

Block block_of(int64_t extent, int64_t unit, int parts, int index) {
  const int64_t units = extent / unit, small = units / parts, larger = units % parts;
  const int64_t lo = index * small + min_i64(index, larger);
  return (Block){lo * unit, (small + (index < larger)) * unit};
}

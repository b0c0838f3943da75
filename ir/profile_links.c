// Measured changes of layout in a profile: names of rows of the table ir/reshard.def, the ranks that take part, and bytes.
#include "profile_links.h"

#include <stdlib.h>

// "8", up to a limit.
static bool take_number(const char **at, double most, double *number) {
  char *end;
  if (**at < '1' || **at > '9') return false;
  *number = strtod(*at, &end);
  for (const char *c = *at; c < end; c++)
    if (*c < '0' || *c > '9') return false;
  *at = end;
  return *number <= most;
}

static bool take(const char **at, const char *text) {
  const size_t len = strlen(text);
  if (strncmp(*at, text, len) != 0) return false;
  *at += len;
  return true;
}

static bool take_kind(const char **at, ReshardKind *kind) {
  const size_t len = strcspn(*at, " ");
  for (*kind = 0; *kind < RESHARD_KINDS; (*kind)++) {
    const char *name = reshard_name(*kind);
    if (strlen(name) == len && strncmp(*at, name, len) == 0 && (reshard_bytes(*kind, 1, 2, 0) > 0 || reshard_how(*kind) == RESHARD_LOCAL)) break;
  }
  *at += *kind < RESHARD_KINDS ? len : 0;
  return *kind < RESHARD_KINDS;
}

bool profile_link_begins(const char *text) {
  ReshardKind kind;
  return take_kind(&text, &kind);
}

bool profile_link_read(const char *text, ProfileLink *link, const char **at, const char **expected) {
  static const double most_bytes = 1e15;
  double part, all, stride;
  *at = text;
  *expected = "a change of layout that moves or copies bytes, such as all_reduce";
  if (!take_kind(at, &link->kind)) return false;
  *expected = "which ranks take part, such as [2 of 8 by 4]: so many, in a program of so many, so far from each other";
  if (!take(at, " [") || !take_number(at, MESH_MAX_RANKS, &part) || !take(at, " of ") || !take_number(at, MESH_MAX_RANKS, &all) ||
      !take(at, " by ") || !take_number(at, MESH_MAX_RANKS, &stride) || !take(at, "]"))
    return false;
  if (part < 2 || part * stride > all) {
    *at = strchr(text, '[');
    return false;
  }
  *expected = "the bytes of the tensor, such as 1048576 bytes";
  if (!take(at, " ") || !take_number(at, most_bytes, &link->bytes) || !take(at, " bytes")) return false;
  *expected = "the end of the line";
  link->ranks = (LinkRanks){(int)part, (int)all, (int)stride};
  return **at == '\0';
}

const char *profile_link_name(Arena *arena, const ProfileLink *link) {
  return arena_printf(arena, "%s [%d of %d by %d] %.0f bytes", reshard_name(link->kind), link->ranks.part, link->ranks.all, link->ranks.stride, link->bytes);
}

// The number of its curve, or that which a new one would have.
static int find_curve(const ProfileLinks *links, ReshardKind kind, LinkRanks ranks) {
  int i = 0;
  for (; i < links->curves.len; i++) {
    const LinkCurve *curve = &links->curves.at[i];
    if (curve->kind == kind && curve->ranks.part == ranks.part && curve->ranks.all == ranks.all && curve->ranks.stride == ranks.stride) break;
  }
  return i;
}

const LinkCurve *profile_links_find(const ProfileLinks *links, ReshardKind kind, LinkRanks ranks) {
  const int i = find_curve(links, kind, ranks);
  return i < links->curves.len ? &links->curves.at[i] : NULL;
}

void profile_links_add(Arena *arena, ProfileLinks *links, const ProfileLink *link, double seconds) {
  const int number = find_curve(links, link->kind, link->ranks);
  if (number == links->curves.len) vec_push(arena, &links->curves, (LinkCurve){.kind = link->kind, .ranks = link->ranks});
  LinkCurve *curve = &links->curves.at[number];
  vec_push(arena, &curve->points, (LinkPoint){0, 0});
  int i = curve->points.len - 1;
  for (; i > 0 && curve->points.at[i - 1].bytes > link->bytes; i--) curve->points.at[i] = curve->points.at[i - 1];
  curve->points.at[i] = (LinkPoint){link->bytes, seconds};
}

double link_curve_seconds(const LinkCurve *curve, double bytes) {
  const LinkPoint *at = curve->points.at;
  const int last = curve->points.len - 1;
  if (bytes <= at[0].bytes) return at[0].seconds;
  if (bytes >= at[last].bytes) return at[last].seconds * bytes / at[last].bytes;
  int i = 0;
  while (at[i + 1].bytes < bytes) i++;
  return at[i].seconds + (at[i + 1].seconds - at[i].seconds) * (bytes - at[i].bytes) / (at[i + 1].bytes - at[i].bytes);
}

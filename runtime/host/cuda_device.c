// What the processor says of itself.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cuda_runtime.h"

// The value of a line "NAME : VALUE" of /proc/cpuinfo, of the first processor. False: there is none.
static bool find_line(const char *name, char *value, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[512];
  bool found = false;
  while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
    const char *colon = strchr(line, ':');
    if (colon == NULL || strncmp(line, name, strlen(name)) != 0) continue;
    colon += 1 + strspn(colon + 1, " \t");
    snprintf(value, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    found = true;
  }
  if (file != NULL) fclose(file);
  return found;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  struct utsname system;
  if (device < 0) return cudaErrorInvalidDevice;
  memset(properties, 0, sizeof *properties);
  properties->integrated = 1;
  if (find_line("model name", properties->name, sizeof properties->name)) return cudaSuccess;
  snprintf(properties->name, sizeof properties->name, "%s", uname(&system) == 0 ? system.machine : "processor");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  char text[64] = "";
  if (device < 0) return cudaErrorInvalidDevice;
  if (attribute != cudaDevAttrClockRate) return cudaErrorInvalidValue;
  find_line("cpu MHz", text, sizeof text);
  *value = (int)(strtod(text, NULL) * 1e3);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int src, int dst) {
  if (src < 0 || dst < 0 || src == dst) return cudaErrorInvalidDevice;
  if (attribute != cudaDevP2PAttrNativeAtomicSupported) return cudaErrorInvalidValue;
  *value = 1;
  return cudaSuccess;
}

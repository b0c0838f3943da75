// The generator: the published test vectors of Philox4x32-10, ranges, moments.
#include "test.h"

__global__ void k_draw(double *__restrict__ u, float *__restrict__ v, double *__restrict__ z, float *__restrict__ w,
                       long n, unsigned long long seed) {
  FLAT(i, n) {
    u[i] = parcc_uniform(seed, 7, 3, (unsigned long long)i);
    v[i] = parcc_uniformf(seed, 7, 3, (unsigned long long)i);
    z[i] = parcc_normal(seed, 7, 3, (unsigned long long)i);
    w[i] = parcc_normalf(seed, 7, 3, (unsigned long long)i);
  }
}

static void check_vector(unsigned long long seed, unsigned stream, unsigned long long step, unsigned long long index,
                         uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const ParccRandom r = parcc_random(seed, stream, step, index);
  EXPECT(r.word[0] == a && r.word[1] == b && r.word[2] == c && r.word[3] == d);
}

int main(int argc, char **argv) {
  enum { N = 200000 };
  parcc_start(argc, argv, &test_model);
  check_vector(0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
  check_vector(~0ull, ~0u, 0xffffffff, ~0ull, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
  check_vector(0x299f31d0a4093822, 0x13198a2e, 0x03707344, 0x85a308d3243f6a88, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
               0x24126ea1);

  EXPECT(parcc_unit(~0u, ~0u) < 1 && parcc_unit(0, 0) == 0);

  double *u = (double *)parcc_arena(N * 24);
  double *z = u + N;
  float *v = (float *)(z + N), *w = v + N;
  LAUNCH_FLAT(k_draw, N, u, v, z, w, N, parcc.seed);
  double mean = 0, normal_mean = 0, normal_square = 0, fourth = 0;
  for (long i = 0; i < N; i++) {
    EXPECT(u[i] >= 0 && u[i] < 1 && v[i] >= 0 && v[i] < 1);
    EXPECT((double)v[i] <= u[i] && u[i] - (double)v[i] < 0x1p-24);
    EXPECT(isfinite(z[i]) && fabs((double)w[i] - z[i]) <= 1e-6);
    EXPECT(fabs(z[i] - parcc_normal(parcc.seed, 7, 3, (unsigned long long)i)) <= 1e-14);
    mean += u[i] / N;
    normal_mean += z[i] / N;
    normal_square += z[i] * z[i] / N;
    fourth += z[i] * z[i] * z[i] * z[i] / N;
  }
  EXPECT(fabs(mean - 0.5) < 0.005 && fabs(normal_mean) < 0.01);
  EXPECT(fabs(normal_square - 1) < 0.02 && fabs(fourth - 3) < 0.15);
  FINISH();
}

profile 1
4 us f32 each [a=128
4 us f16 each [a=128] x0[a]
4 us f32 each [a=-128] x0[a]
4 us f32 each [a=1.5] x0[a]
4 us f32 mean [a=1 | b=2] x0[a, b]
4 us f32 sum [a=1 | b=2 | c=3] x0[a, b]
4 us f32 sum [a=1 |] x0[a]
4 us f32 each [a=128]
4 us f32 each [a=128] x0[a
4 us f32 each [a=128] x0[b]
4 us f32 each [a=128] (x0[a] +
4 us f32 each [a=128] (x0[a] + x1[a]
4 us f32 each [a=128] (x0[a] ** x1[a])
4 us f32 each [a=128] max(x0[a])
4 us f32 each [a=128] relu(x0[a])
4 us f32 each [a=128] x0[a] x1
4 us f32 each [a=128] x0[a])
4 us f32 call [a=128]
4 us f32 call [a=128] sort_rows(x0)
# what the compiler writes
4 us f32 each [] (x0 / max(x1, 1))
4 us f32 sum [| a=64] select((k0[a] != -1), 1, 0)
4 us f32 max [a=64 b=2 | c=3 d=3] x0[a, b, 2*c + a - 1, (d - 2)/2]
4 us f64 each [a=64 b=3] select((uniform(10, 9216*a + b) < 0.5), 0, (x0[a, b] / 0.5))
4 us f32 each [a=1000] ((x0[a] * -1e-08) - (lr * pow(0.9, (step + 1))))
4 us f32 call [a=4] sort_rows

# comments and empty lines may stand anywhere

profile 1  # also here
5 us  f32 sum [a=2 b=3 | c=4] (x0[a, c] * x1[b, c])
5 us  f32  sum [a=2 b=3 | c=4]   (x0[a, c] * x1[b, c])  # the same with other blanks
fast  f32 each [a=1] x0[a]
-1 us f32 each [a=2] x0[a]
0 us  f32 each [a=3] x0[a]
1e300 s  f32 each [a=4] x0[a]
1e400 s  f32 each [a=5] x0[a]
5 parsecs  f32 each [a=6] x0[a]
5us  f32 each [a=7] x0[a]
0x5 us  f32 each [a=8] x0[a]
5 us  # nothing
5
1.5 ns  f32 each [a=9] what is known to nobody is not used
5 us  a ÿ byte

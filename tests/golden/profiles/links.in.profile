profile 1
5 us  all_reduce [2 of 2 by 1] 1024 bytes # right
5 us  all_reduce [2 of 2 by 1] 1024 bytes
5 us  all_reduce [1 of 2 by 1] 1024 bytes
5 us  all_reduce [2 of 3 by 2] 1024 bytes
5 us  all_reduce [2 of 8 by] 1024 bytes
5 us  all_gather [2 of 8 by 4] 1 KiB
5 us  all_gather [2 of 8 by 4] 1024 bytes and more
5 us  all_gather [2 of 8 by 4] 0 bytes
5 us  slice [2 of 8 by 4] 1024 bytes
5 us  reblock [2 of 8 by 4] 1024 bytes
5 us  move [2 of 99999999999999999999 by 4] 1024 bytes

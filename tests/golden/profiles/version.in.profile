profile 2
5 us x

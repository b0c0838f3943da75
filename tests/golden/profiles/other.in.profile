machine p100 { }
5 us x

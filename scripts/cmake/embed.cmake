# Writes OUTPUT, a C file that holds the bytes of INPUT as `const char SYMBOL[]` (NUL-terminated) and `const size_t SYMBOL_len`.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR len "${digits} / 2")
string(REGEX REPLACE "(................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include <stddef.h>\n\nextern const char ${SYMBOL}[];\nextern const size_t ${SYMBOL}_len;\nconst char ${SYMBOL}[] = {\n${bytes}\n0};\nconst size_t ${SYMBOL}_len = ${len};\n")

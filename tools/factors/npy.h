/* Arrays of NumPy's form 1.0, for the programs beside this file: a head of 128 bytes, then the values. Nothing but C's own
 * library; each function but the first returns 0 if it has written all. */
#ifndef SORDINO_TOOLS_NPY_H
#define SORDINO_TOOLS_NPY_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* FOLDER/NAME.npy, behind the place of its head; null if it cannot be written. Values are appended by fwrite. */
static inline FILE* npy_begin(const char* folder, const char* name) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s.npy", folder, name) >= (int)sizeof path) return NULL;
  FILE* file = fopen(path, "wb");
  if (file && fseek(file, 128, SEEK_SET)) {
    fclose(file);
    return NULL;
  }
  return file;
}

/* The head, once all values are there. `type`: "<f8"; `count`: how many there are, or -1 of one value without dimensions. */
static inline int npy_end(FILE* file, const char* type, int64_t count) {
  char head[129], shape[32] = "()";
  if (!file) return 1;
  if (count >= 0) snprintf(shape, sizeof shape, "(%lld,)", (long long)count);
  memset(head, ' ', 128);
  memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10); /* 118 bytes are left of 128 */
  int length = snprintf(head + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
  head[10 + length] = ' ';
  head[127] = '\n';
  const int bad = ferror(file) || fseek(file, 0, SEEK_SET) || fwrite(head, 1, 128, file) != 128;
  return fclose(file) || bad;
}

/* A whole array of `count` values of `each` bytes, or one value if `count` is -1. */
static inline int npy_write(const char* folder, const char* name, const char* type, const void* values, int64_t count,
                            size_t each) {
  FILE* file = npy_begin(folder, name);
  if (file) fwrite(values, each, count < 0 ? 1 : (size_t)count, file);
  return npy_end(file, type, count);
}

/* What each file of factors says of itself. `unit_lower`: the diagonal of L is 1, whatever is stored there. */
static inline int npy_write_format(const char* folder, int64_t unit_lower) {
  const int64_t version = 1;
  int bad = npy_write(folder, "format", "|S15", "sordino factors", -1, 15);
  bad |= npy_write(folder, "version", "<i8", &version, -1, 8);
  return bad | npy_write(folder, "unit_lower", "<i8", &unit_lower, -1, 8);
}

#endif

// A cause in a fixed number of bytes: as it lies in shared memory, and as it travels between processes before its sentence.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"

namespace sordino {

/// As much of a text as there is room for, and a zero behind it. A character of several bytes is kept or left out as a whole.
template <std::size_t n>
void keep(char (&to)[n], const std::string& text) {
  std::size_t count = std::min(text.size(), n - 1);
  while (count > 0 && count < text.size() && (text[count] & 0xc0) == 0x80) count--;
  std::memcpy(to, text.data(), count);
  to[count] = 0;
}

struct CauseRecord {
  i64 iteration, expected, seen;
  i32 rank;
  char command[100];
};

inline CauseRecord packed(const Cause& cause) {
  CauseRecord r{cause.iteration, cause.expected, cause.seen, cause.rank, {}};
  keep(r.command, cause.command);
  return r;
}

inline Cause unpacked(const CauseRecord& r) { return {r.rank, r.command, r.iteration, r.expected, r.seen}; }

/// A message's bytes: what is known of a failure, then its sentence.
inline std::string letter_of(const std::string& sentence, const Cause& cause) {
  CauseRecord r = packed(cause);
  return std::string(reinterpret_cast<const char*>(&r), sizeof r) + sentence;
}

inline Error error_in(Errc code, const std::byte* letter, std::size_t bytes) {
  CauseRecord r;
  if (bytes < sizeof r) return {code, "a failure of which nothing is said"};
  std::memcpy(&r, letter, sizeof r);
  r.command[sizeof r.command - 1] = 0;
  return {code, {reinterpret_cast<const char*>(letter) + sizeof r, bytes - sizeof r}, unpacked(r)};
}

}  // namespace sordino

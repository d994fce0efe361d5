// What a rank waits for, for who loses patience.
#pragma once
#include <string>
#include <utility>

#include "sordino/base/types.hpp"

namespace sordino {

/// In words; of what comes with epochs also which, and the last that has come.
struct Awaited {
  Awaited(std::string text) : what(std::move(text)) {}
  Awaited(const std::string& text, i64 expected_epoch, i64 seen_epoch)
      : what(text + ", epoch " + std::to_string(expected_epoch) + " (seen " + std::to_string(seen_epoch) + ")"),
        expected(expected_epoch),
        seen(seen_epoch) {}
  std::string what;
  i64 expected = -1, seen = -1;
};

}  // namespace sordino

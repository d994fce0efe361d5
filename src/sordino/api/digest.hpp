// A number by which processes find out whether they were given the same.
#pragma once
#include <optional>
#include <string>
#include <type_traits>

#include "sordino/api/options.hpp"
#include "sordino/base/types.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

/// A number of what all processes must agree on, which differs where that does; exact as a double.
class Digest {
 public:
  void take(const void* bytes, std::size_t count) {
    for (std::size_t k = 0; k < count; k++) hash_ = (hash_ ^ static_cast<const unsigned char*>(bytes)[k]) * 0x100000001b3u;
  }
  void take(const std::string& text) { take(text.c_str(), text.size() + 1); }
  template <class Number>
    requires(std::is_arithmetic_v<Number>)  // bytes that say nothing, as between the parts of others, differ
  void take(Number value) {
    take(&value, sizeof value);
  }
  template <class T>
  void take(const std::optional<T>& value) {
    take(value.has_value());
    if (value) take(*value);
  }
  double number() const { return double(hash_ >> 12); }

 private:
  u64 hash_ = 0xcbf29ce484222325u;  // FNV-1a
};

/// Of what processes must give alike: all options but ranks and devices.
double digest(const Options& options);
double digest(const std::optional<Machine>& machine);

}  // namespace sordino

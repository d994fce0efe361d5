#include "sordino/linalg/extents.hpp"

#include <charconv>
#include <sstream>

#include "sordino/base/error.hpp"

namespace sordino {

Extents parse_extents(const std::string& option, const std::string& text) {
  const std::string refusal = option + " is one to three numbers from 1 on, such as 8,8,4, not '" + text + "'";
  Extents extents = {1, 1, 1};
  std::size_t read = 0;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    if (read == 3) bad_argument(refusal);
    i32 number = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size() || number < 1) bad_argument(refusal);
    extents[read++] = number;
  }
  if (read == 0 || text.back() == ',') bad_argument(refusal);
  return extents;
}

Extents parse_grid(i64 n, const std::string& text) {
  Extents grid = parse_extents("grid", text);
  if (double(grid[0]) * double(grid[1]) * double(grid[2]) != double(n))
    bad_argument("grid " + shown(grid) + " does not have as many cells as the matrix rows, " + std::to_string(n));
  return grid;
}

std::string shown(const Extents& e) {
  return std::to_string(e[0]) + " x " + std::to_string(e[1]) + " x " + std::to_string(e[2]);
}

}  // namespace sordino

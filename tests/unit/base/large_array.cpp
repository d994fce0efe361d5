// Arrays that nobody writes before they are filled: what is written stays, at every size around those of pages.
#include "sordino/base/large_array.hpp"

#include <numeric>
#include <utility>

#include "check.hpp"
#include "sordino/base/large_vector.hpp"
#include "sordino/base/types.hpp"

using namespace sordino;

TEST("a large array keeps what is written to all of its elements, where it was written") {
  struct Element {
    i64 number = -1;
    char more[7] = {};
  };
  constexpr std::size_t page = std::size_t(2) << 20;
  for (std::size_t size :
       {std::size_t(0), std::size_t(1), page / 16 - 1, 2 * page / 16, 2 * page / 16 + 1, 5 * page / 16 + 3}) {
    NOTE("size = ", size);
    LargeArray<Element> array(size);
    CHECK(array.size() == size);
    for (std::size_t k = 0; k < size; k++) array[k] = {i64(k)};
    const Element* before = array.data();
    const LargeArray<Element> moved = std::move(array);
    CHECK(moved.data() == before);
    const std::span<const Element> seen = moved;
    CHECK(seen.size() == size);
    bool kept = true;
    for (std::size_t k = 0; k < size; k++) kept = kept && seen[k].number == i64(k);
    CHECK(kept);
  }
}

TEST("a large array that is assigned to has the other's elements") {
  LargeArray<int> array;
  CHECK(array.size() == 0);
  CHECK(array.begin() == array.end());
  for (int size : {3, 2000000}) {
    LargeArray<int> other(static_cast<std::size_t>(size));
    std::iota(other.begin(), other.end(), 1);
    array = std::move(other);
    CHECK(std::accumulate(array.begin(), array.end(), i64(0)) == i64(size) * (size + 1) / 2);
  }
}

TEST("a large vector has zeros, as many as asked for, and what is around them is left alone") {
  for (std::size_t size : {std::size_t(0), std::size_t(3), std::size_t(300000), std::size_t(2000000)}) {
    const std::vector<double> before(size, 7.0);  // in memory that may be handed out again
    const std::vector<double> zeros = large_vector<double>(size);
    CHECK(zeros == std::vector<double>(size, 0.0));
    CHECK(before == std::vector<double>(size, 7.0));
  }
}

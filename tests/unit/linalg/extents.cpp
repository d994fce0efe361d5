#include "sordino/linalg/extents.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"

using namespace sordino;

TEST("extents are one to three whole numbers from 1 on") {
  CHECK(parse_extents("tile", "8,4,2") == (Extents{8, 4, 2}));
  CHECK(parse_extents("tile", "8,4") == (Extents{8, 4, 1}));
  CHECK(parse_extents("tile", "64") == (Extents{64, 1, 1}));
  for (const char* bad : {"", "0,1,1", "4,-1", "4,,4", "4,4,", "4,4,4,4", "4x4", "a", " 4", "99999999999", "1.5"}) {
    NOTE(bad);
    CHECK_THROWS(parse_extents("tile", bad), Error, "tile is one to three numbers from 1 on");
  }
}

TEST("a grid has as many cells as the matrix rows") {
  CHECK(parse_grid(480, "6,5,16") == (Extents{6, 5, 16}));
  CHECK_THROWS(parse_grid(100, "5,5,5"), Error, "grid 5 x 5 x 5 does not have as many cells as the matrix rows, 100");
  CHECK_THROWS(parse_grid(1 << 30, "2147483647,2147483647,2147483647"), Error, "does not have as many cells");
}

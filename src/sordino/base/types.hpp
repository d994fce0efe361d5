// Words every layer uses. Local row numbers are 32 bit (a rank holds fewer than 2^31 rows), sizes and global rows 64 bit.
#pragma once
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define SORDINO_HD __host__ __device__
#else
#define SORDINO_HD
#endif

namespace sordino {
using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Half-open range of local rows.
struct RowRange {
  i32 begin = 0, end = 0;
  i32 size() const { return end - begin; }
};
}  // namespace sordino

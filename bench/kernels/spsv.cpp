// cuSPARSE's SpSV beside ours: L x = b with the pattern of a grid's Cholesky factor, or of its incomplete one without fill, in
// compressed rows of doubles, which are 12 bytes an entry where ours are 8. Values are zeros beside a unit diagonal: they do
// not change its time. One line of JSON.
//
//   bench_spsv 7 64 -|metis_64.i32|natural [fill=1] [repeats=7]
//
// The order is that of bench_triangular, or `natural`. fill=0: the grid's own pattern. The library is cuSPARSE's own, of the
// toolkit that is installed.
#include "grid_triangles.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/config.hpp"
#include "sordino/trsv/supernodes.hpp"
#if SORDINO_WITH_CUDA
#include <cusparse.h>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#endif

namespace {
using namespace sordino;
using namespace bench;

struct Rows {
  std::vector<i32> begin, columns;
};

/// Rows of the filled pattern below and on the diagonal, with no zeros beyond the fill.
Rows filled_rows(const trsv::LowerPattern& pattern) {
  const trsv::Supernodes s = trsv::find_supernodes(pattern, {.always = 0, .of_narrow = 0, .of_wide = 0, .of_wider = 0});
  auto each_entry = [&](const auto& visit) {
    for (i32 k = 0; k < s.count(); k++)
      for (i32 j = s.column[std::size_t(k)]; j < s.column[std::size_t(k) + 1]; j++) {
        for (i32 i = j; i < s.column[std::size_t(k) + 1]; i++) visit(i, j);
        for (i64 e = s.row_begin[std::size_t(k)]; e < s.row_begin[std::size_t(k) + 1]; e++) visit(s.rows[std::size_t(e)], j);
      }
  };
  Rows r{std::vector<i32>(std::size_t(s.n) + 1, 0), {}};
  each_entry([&](i32 i, i32) { r.begin[std::size_t(i) + 1]++; });
  std::partial_sum(r.begin.begin(), r.begin.end(), r.begin.begin());
  r.columns.resize(std::size_t(r.begin.back()));
  std::vector<i32> next(r.begin.begin(), r.begin.end() - 1);
  each_entry([&](i32 i, i32 j) { r.columns[std::size_t(next[std::size_t(i)]++)] = j; });
  return r;
}

Rows own_rows(const trsv::LowerPattern& pattern) {
  Rows r{std::vector<i32>(std::size_t(pattern.n) + 1, 0), {}};
  for (i64 e = 0; e < pattern.begin[pattern.n]; e++) r.begin[std::size_t(pattern.rows[e]) + 1]++;
  std::partial_sum(r.begin.begin(), r.begin.end(), r.begin.begin());
  r.columns.resize(std::size_t(r.begin.back()));
  std::vector<i32> next(r.begin.begin(), r.begin.end() - 1);
  for (i64 j = 0; j < pattern.n; j++)
    for (i64 e = pattern.begin[j]; e < pattern.begin[j + 1]; e++)
      r.columns[std::size_t(next[std::size_t(pattern.rows[e])]++)] = i32(j);
  return r;
}

#if SORDINO_WITH_CUDA
void check(cusparseStatus_t status) {
  if (status != CUSPARSE_STATUS_SUCCESS) throw Error(Errc::device, cusparseGetErrorString(status));
}

struct Times {
  double analysis, solve;
  std::size_t buffer;
};

Times times(const Rows& rows, int repeats) {
  const i64 n = i64(rows.begin.size()) - 1, entries = i64(rows.columns.size());
  const trsv::OnGpu<i32> begin(rows.begin), columns(rows.columns);
  const trsv::OnGpu<double> values(entries), b(std::vector<double>(std::size_t(n), 1.0)), x(n);
  cuda::call("cudaMemset", cudaMemset(values.data(), 0, std::size_t(values.bytes())));
  cusparseHandle_t handle;
  cusparseSpMatDescr_t L;
  cusparseDnVecDescr_t of_b, of_x;
  cusparseSpSVDescr_t descriptor;
  check(cusparseCreate(&handle));
  check(cusparseCreateCsr(&L, n, n, entries, begin.data(), columns.data(), values.data(), CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t unit = CUSPARSE_DIAG_TYPE_UNIT;
  check(cusparseSpMatSetAttribute(L, CUSPARSE_SPMAT_FILL_MODE, &lower, sizeof lower));
  check(cusparseSpMatSetAttribute(L, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit));
  check(cusparseCreateDnVec(&of_b, n, b.data(), CUDA_R_64F));
  check(cusparseCreateDnVec(&of_x, n, x.data(), CUDA_R_64F));
  check(cusparseSpSV_createDescr(&descriptor));
  const double one = 1;
  Times t{};
  const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const auto algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
  check(cusparseSpSV_bufferSize(handle, plain, &one, L, of_b, of_x, CUDA_R_64F, algorithm, descriptor, &t.buffer));
  const trsv::OnGpu<char> buffer(i64(t.buffer));
  cuda::call("cudaDeviceSynchronize", cudaDeviceSynchronize());
  const double before = seconds_now();
  check(cusparseSpSV_analysis(handle, plain, &one, L, of_b, of_x, CUDA_R_64F, algorithm, descriptor, buffer.data()));
  cuda::call("cudaDeviceSynchronize", cudaDeviceSynchronize());
  t.analysis = seconds_now() - before;
  std::vector<double> seconds;
  for (int k = 0; k < repeats + 1; k++) {
    const double start = seconds_now();
    check(cusparseSpSV_solve(handle, plain, &one, L, of_b, of_x, CUDA_R_64F, algorithm, descriptor));
    cuda::call("cudaDeviceSynchronize", cudaDeviceSynchronize());
    seconds.push_back(seconds_now() - start);
  }
  t.solve = median_of(seconds, 1);
  return t;
}
#endif

int run(int argc, char** argv) {
  const int points = std::atoi(argv[1]), side = std::atoi(argv[2]);
  const Grid grid{points, side, points == 27 ? 3 : 1};
  const Words words(argc, argv, 4);
  const std::string path = argv[3];
  const std::vector<i32> order = path == "-"         ? nested_order(grid)
                                 : path == "natural" ? natural_order(grid)
                                                     : order_in(argv[3], grid.cells());
  const Triangle t = lower_triangle(grid, order);
  const Rows rows = words.number("fill", 1) ? filled_rows(t.pattern()) : own_rows(t.pattern());
  std::printf("{\"solver\": \"cusparseSpSV\", \"points\": %d, \"side\": %d, \"n\": %lld, \"entries\": %lld", points, side,
              static_cast<long long>(t.pattern().n), static_cast<long long>(rows.columns.size()));
#if SORDINO_WITH_CUDA
  const Times found = times(rows, int(words.number("repeats", 7)));
  std::printf(", \"analysis_seconds\": %.4g, \"seconds\": %.6g, \"buffer_bytes\": %zu", found.analysis, found.solve,
              found.buffer);
#endif
  print_words(words);
  std::printf("}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s 5|7|27 SIDE ORDER|-|natural [name=value]...\n", argv[0]);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}

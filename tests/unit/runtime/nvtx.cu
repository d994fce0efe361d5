// NVTX without a profiler: a tool of our own, linked in, counts the ranges of a solve on the host. Needs no GPU.
#include "sordino/runtime/cuda/nvtx.hpp"

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstring>
#include <string>

#include "check.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/base/range.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

std::atomic<int> pushed{0}, popped{0}, iterating{0};
int domain_word;
std::string domain_name;

nvtxDomainHandle_t create(const char* name) {
  domain_name = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain_word);
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  if (std::strcmp(attributes->message.ascii, "iterate") == 0) iterating++;
  return pushed++;
}

int pop(nvtxDomainHandle_t) { return popped++; }

template <class F>
void take(NvtxFunctionTable table, int place, F* function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

// NVTX calls this once, as it would a tool's library.
int attach(NvtxGetExportTableFunc_t get_table) {
  auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  take(table, NVTX_CBID_CORE2_DomainCreateA, &create);
  take(table, NVTX_CBID_CORE2_DomainRangePushEx, &push);
  take(table, NVTX_CBID_CORE2_DomainRangePop, &pop);
  return 1;
}

/// As if the tool had been linked with the program: NVTX looks here before its first call.
[[maybe_unused]] const bool linked = [] {
  InitializeInjectionNvtx2_fnptr = attach;
  return true;
}();

}  // namespace

TEST("a tool that attaches to NVTX is shown the ranges of a solve, in a domain of their own") {
  const RangeSink* before = range_sink.load();
  REQUIRE(cuda::show_ranges());
  CsrMatrix A = poisson(5, 5, 5, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  Options o;
  o.engine = "host";
  o.ranks = 2;
  Solver solver(A.view(), o);
  CHECK(solver.solve(b.data(), x.data()).status == Status::converged);
  range_sink = before;
  CHECK(domain_name == "sordino");
  CHECK(iterating == 2);
  CHECK(pushed > 20);
  CHECK(pushed == popped);
}

#include "sordino/runtime/cuda/nvtx.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

#include "sordino/base/range.hpp"

namespace sordino::cuda {
namespace {

nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("sordino");
  return made;
}

void begin(const char* name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  nvtxDomainRangePushEx(domain(), &attributes);
}

void end() { nvtxDomainRangePop(domain()); }

constexpr RangeSink nvtx{begin, end};

}  // namespace

bool show_ranges() {
  range_sink = &nvtx;
  return true;
}

}  // namespace sordino::cuda
#else
namespace sordino::cuda {

bool show_ranges() { return false; }

}  // namespace sordino::cuda
#endif

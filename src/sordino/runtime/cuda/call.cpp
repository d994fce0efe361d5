#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

// After these nothing works on the device any more until the process ends.
bool is_lasting(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak: return true;
    default: return false;
  }
}

}  // namespace

void throw_cuda_error(cudaError_t error, const char* name, const std::source_location& where) {
  std::string file = where.file_name();
  file = file.substr(file.rfind('/') + 1);
  std::string text = std::string(name) + " failed: " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ", " +
                     file + ":" + std::to_string(where.line()) + ")";
  if (is_lasting(error)) text += "; what the device held is lost, and only a new process can use it again";
  cudaGetLastError();  // the next call starts clean
  const bool is_full = error == cudaErrorMemoryAllocation;
  if (is_full) text = "the GPU, or the host for it, has too little memory left: " + text;
  throw Error(is_full ? Errc::unsupported : Errc::device, text);
}

}  // namespace sordino::cuda

// Which GPUs can run the kernels of a build. Knows no CUDA.
#pragma once
#include <string>

namespace sordino {

/// Whether a GPU of compute capability major.minor runs kernels compiled for `architectures`, a list as CMake has it: in
/// "80-real;90" it is code for 8.0, and code and PTX for 9.0. Code runs on GPUs of the same major version that are not older;
/// the driver translates PTX for all that are not older. What is made for "90a" runs on 9.0 alone; "native" is taken for all.
bool runs_on(const std::string& architectures, int major, int minor);

}  // namespace sordino

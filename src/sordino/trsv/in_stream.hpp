// How a triangular solve of vectors on a GPU goes together with the caller's own work there.
#pragma once

namespace sordino::trsv {

struct InStream {
  void* stream = nullptr;  // a cudaStream_t of the GPU that has b and x, which are there when it has come so far; null: its
                           //   legacy default stream
  bool waits = true;       // until x is there; else it is when the stream has come so far
};

}  // namespace sordino::trsv

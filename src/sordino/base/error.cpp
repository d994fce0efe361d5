#include "sordino/base/error.hpp"

namespace sordino {

const char* name(Errc code) {
  switch (code) {
    case Errc::bad_argument: return "bad_argument";
    case Errc::io: return "io";
    case Errc::device: return "device";
    case Errc::peer_failed: return "peer_failed";
    case Errc::unsupported: return "unsupported";
  }
  return "unknown";
}

}  // namespace sordino

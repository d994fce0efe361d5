// Broken contracts throw Error: what was wrong, and where. Numerical outcomes are values (base/status.hpp), never exceptions.
#pragma once
#include <stdexcept>
#include <string>

namespace sordino {

enum class Errc { bad_argument, io, device, peer_failed, unsupported };

/// The word by which Python and the command line know a code.
const char* name(Errc code);

class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Errc code() const { return code_; }

 private:
  Errc code_;
};

/// Thrown on ranks that stop because another rank failed; carries the first cause, so that all ranks say the same.
class PeerFailed : public Error {
 public:
  explicit PeerFailed(const std::string& cause) : Error(Errc::peer_failed, cause) {}
};

[[noreturn]] inline void bad_argument(const std::string& message) { throw Error(Errc::bad_argument, message); }

}  // namespace sordino

// Broken contracts throw Error: what was wrong, and where. Numerical outcomes are values (base/status.hpp), never exceptions.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

#include "sordino/base/types.hpp"

namespace sordino {

enum class Errc { bad_argument, io, device, peer_failed, unsupported };

/// The word by which Python and the command line know a code.
const char* name(Errc code);

/// What is known of a failure beside its sentence; -1, or no name: not known.
struct Cause {
  int rank = -1;          // who failed, or gave up waiting, or is lost: of several, the first
  std::string command{};  // in which
  i64 iteration = -1;     // of the command's recording
  i64 expected = -1;      // epoch that was waited for
  i64 seen = -1;          // epoch that had come by then
  /// With what is known from `around` it, where this knows nothing.
  Cause within(const Cause& around) const;
  bool operator==(const Cause&) const = default;
};

class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message, Cause cause = {})
      : std::runtime_error(message), code_(code), cause_(std::move(cause)) {}
  Errc code() const { return code_; }
  /// After a fault the same on all ranks, as the sentence is.
  const Cause& cause() const { return cause_; }

 private:
  Errc code_;
  Cause cause_;
};

/// Thrown on ranks that stop because another rank failed; carries the first cause, so that all ranks say the same.
class PeerFailed : public Error {
 public:
  explicit PeerFailed(const Error& first) : Error(Errc::peer_failed, first.what(), first.cause()) {}
};

/// Inside a catch clause: what was caught, as an Error that says `where` before its sentence and knows what is known `around`.
Error caught(const std::string& where, const Cause& around);

[[noreturn]] inline void bad_argument(const std::string& message) { throw Error(Errc::bad_argument, message); }

}  // namespace sordino

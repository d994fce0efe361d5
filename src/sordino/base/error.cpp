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

Cause Cause::within(const Cause& around) const {
  auto known = [](i64 mine, i64 other) { return mine >= 0 ? mine : other; };
  return {rank >= 0 ? rank : around.rank, command.empty() ? around.command : command, known(iteration, around.iteration),
          known(expected, around.expected), known(seen, around.seen)};
}

Error caught(const std::string& where, const Cause& around) {
  try {
    throw;
  } catch (const Error& e) {
    return {e.code(), where + e.what(), e.cause().within(around)};
  } catch (const std::exception& e) {
    return {Errc::peer_failed, where + e.what(), around};
  } catch (...) {
    return {Errc::peer_failed, where + "an exception that is no std::exception", around};
  }
}

}  // namespace sordino

#include "sordino/base/status.hpp"

namespace sordino {

const char* name(Status status) {
  switch (status) {
    case Status::converged: return "converged";
    case Status::max_iterations: return "max_iterations";
    case Status::time_limit: return "time_limit";
    case Status::breakdown: return "breakdown";
    case Status::indefinite: return "indefinite";
    case Status::stagnated: return "stagnated";
    case Status::diverged: return "diverged";
    case Status::interrupted: return "interrupted";
    case Status::stopped_by_user: return "stopped_by_user";
  }
  return "unknown";
}

}  // namespace sordino

#include "sordino/solvers/endings.hpp"

namespace sordino {
namespace {

std::string relative(double norm, double b_norm) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3e", norm / b_norm);
  return text;
}

}  // namespace

const char* why_stopped(Status status) {
  if (status == Status::time_limit) return ": the time limit is reached";
  return status == Status::stopped_by_user ? ": a callback asked for it" : ", from outside";
}

const char* why_ended(Verdict verdict) {
  switch (verdict) {
    case met: return "its residual met the tolerance, and the recomputed one did not";
    case broke_down: return "it broke down";
    case not_definite: return "(p, A p) was not positive";
    case blew_up: return "its residual had grown beyond all bounds";
    default: return "";
  }
}

Status judge(Verdict verdict, std::string& reason) {
  switch (verdict) {
    case met:
      reason =
          "the recurrence has gone below the tolerance or lost touch, the recomputed residual does not follow, and restarting "
          "no longer helps: this is the attainable accuracy";
      return Status::stagnated;
    case broke_down:
      reason = "a scalar product of the recurrence vanished, and restarting from the best x no longer helps";
      return Status::breakdown;
    case not_definite:
      reason = "(p, A p) is not positive: the matrix or the preconditioner is not positive definite; use bicgstab";
      return Status::indefinite;
    case blew_up: reason = "the residual has grown beyond all bounds or is not a number"; return Status::diverged;
    case asked_to_stop: reason = "stopped on request"; return Status::interrupted;
    case proceed: break;
  }
  reason = "the maximum number of iterations is reached";
  return Status::max_iterations;
}

std::string figures(const SolveOutcome& out, double target) {
  std::string text;
  if (out.status != Status::converged && out.residual_norm <= target)
    text += "; it meets the tolerance by less than the rounding of scaled entries may hide: use jacobi";
  if (out.status != Status::converged)
    text += "; relative residual " + relative(out.residual_norm, out.b_norm) + " after " + std::to_string(out.iterations) +
            " iterations";
  if (out.outside_norm > target)
    text += "; a part of b outside the range of A, " + relative(out.outside_norm, out.b_norm) +
            " times the rest, was taken away: what is said here is about the rest";
  return text;
}

}  // namespace sordino

// What the ends of loops and of solves are called.
#pragma once
#include <string>

#include "sordino/solvers/driver.hpp"

namespace sordino {

/// Who asked for a stop, as the end of a sentence.
const char* why_stopped(Status status);
/// What was wrong with the recurrence of a loop that ended so, once its x was found not to meet the tolerance.
const char* why_ended(Verdict verdict);
/// What the end of the last loop means for the solve, and why.
Status judge(Verdict verdict, std::string& reason);
/// What a reason ends with.
std::string figures(const SolveOutcome& outcome, double target);

}  // namespace sordino

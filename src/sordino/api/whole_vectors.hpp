// Methods on whole vectors, groups of ranks that gather them together, what their gathers hide behind, and who computes
// scalars: the options `vectors`, `gather`, `schedule` and `scalars`.
#pragma once
#include <string>

#include "sordino/api/system.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {

/// The chosen method in the schedule that `options` asks for. Throws bad_argument for methods that have but one.
const MethodEntry& method_in_schedule(const MethodEntry& chosen, const Options& options);

/// The same, and on whole vectors and with the host's scalars where `options` asks for them. Throws bad_argument for methods,
/// matrices and preconditioners that have none, too, and for groups where nothing is gathered, or shared by nobody.
const MethodEntry& method_on_vectors(const MethodEntry& chosen, const System& system, const Options& options);

/// How many neighbouring ranks gather as one, by the option `gather`. Throws bad_argument for groups that the ranks do not
/// divide into, and where nodes have different numbers of them.
int group_of(const std::string& gather, const Engine& engine);

}  // namespace sordino

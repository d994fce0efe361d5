#include "sordino/runtime/command.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/runtime/fault.hpp"

namespace sordino {

double load_scalar(const ScalarView& s, int logical) {
  int p = s.physical[logical];
  if (!s.known[p]) bad_argument("scalar '" + s.names[logical] + "' is read before it has a value");
  return s.value[p];
}

bool sends(const Recording& recording) {
  auto is_sent = [](const Phase& p) { return p.op == Op::put || p.op == Op::start; };
  return std::any_of(recording.commands.begin(), recording.commands.end(),
                     [&](const Command& c) { return std::any_of(c.phases.begin(), c.phases.end(), is_sent); });
}

std::vector<int> rotated(std::vector<int> map, const std::vector<std::vector<int>>& groups, int steps) {
  while (steps-- > 0)
    for (auto& g : groups) {
      int last = map[g.back()];
      for (std::size_t i = g.size() - 1; i > 0; i--) map[g[i]] = map[g[i - 1]];
      map[g[0]] = last;
    }
  return map;
}

const char* name(Op op) {
  switch (op) {
    case Op::launch: return "launch";
    case Op::finish: return "finish";
    case Op::exit_test: return "exit test";
    case Op::head: return "head";
    case Op::await: return "await";
    case Op::tasks: return "tasks";
    case Op::host: return "host";
    case Op::put: return "put";
    case Op::start: return "start";
  }
  return "unknown";
}

}  // namespace sordino

#include "sordino/api/digest.hpp"

namespace sordino {

double digest(const Options& options) {
  Options o = options;
  Digest d;
  o.fields([&](const std::string& name, auto& value, const char*, const char*, const std::vector<std::string>&) {
    if (name != "ranks" && name != "devices") d.take(value);
  });
  return d.number();
}

double digest(const std::optional<Machine>& machine) {
  Digest d;
  if (!machine) return d.number();
  Machine::fields(*machine, [&](const char*, const auto& value, const char*, const char*) { d.take(value); });
  for (auto& [command, pace] : machine->paces) d.take(command), d.take(pace.bandwidth), d.take(pace.spread);
  return d.number();
}

}  // namespace sordino

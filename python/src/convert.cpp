#include "convert.hpp"

#include <cstdlib>
#include <map>

#include "sordino/base/error.hpp"

namespace sordino::python {
namespace {

template <class T>
T typed(const std::string& name, nb::handle value) {
  T result;
  if (!nb::try_cast(value, result)) bad_argument("option " + name + " has a value of the wrong type");
  return result;
}

/// A number, or "auto".
template <>
std::optional<int> typed(const std::string& name, nb::handle value) {
  std::string word;
  if (nb::try_cast(value, word) && word == "auto") return {};
  return typed<int>(name, value);
}

nb::object default_of(const OptionInfo& o) {
  if (o.type == "float") return nb::float_(std::atof(o.default_text.c_str()));
  if (o.type == "int" || (o.type == "int or auto" && o.default_text != "auto"))
    return nb::int_(std::atoi(o.default_text.c_str()));
  if (o.type == "bool") return nb::bool_(o.default_text == "true");
  return nb::cast(o.default_text);
}

nb::dict ledger_dict(const Ledger& l) {
  nb::dict d;
  d["commands"] = l.commands;
  d["reductions"] = l.reductions;
  d["reduced_values"] = l.reduced_values;
  d["messages"] = l.messages;
  d["bytes_sent"] = l.bytes_sent;
  nb::dict carried;
  for (int c = 0; c < carriers; c++)
    if (const MessageCount& by = l.carried[std::size_t(c)]; by.messages > 0) {
      nb::dict e;
      e["messages"] = by.messages;
      e["bytes"] = by.bytes;
      carried[name_of(Carrier(c))] = e;
    }
  d["carried"] = carried;
  d["copied_bytes"] = l.copied_bytes;
  d["memory_bytes"] = l.memory_bytes;
  if (l.cached_bytes > 0) d["cached_bytes"] = l.cached_bytes;
  d["flops"] = l.flops;
  d["exposed_reduction_s"] = l.exposed_reduction;
  d["hidden_reduction_s"] = l.hidden_reduction;
  d["exposed_halo_s"] = l.exposed_halo;
  d["imbalance_s"] = l.imbalance;
  d["time_s"] = l.time;
  nb::list kernels;
  for (auto& [name, k] : l.kernels) {
    nb::dict e;
    e["name"] = name;
    e["calls"] = k.calls;
    e["seconds"] = k.seconds;
    e["bytes"] = k.bytes;
    e["flops"] = k.flops;
    kernels.append(e);
  }
  d["kernels"] = kernels;
  return d;
}

}  // namespace

void update(Options& options, const nb::dict& values) {
  for (auto [key, value] : values) {
    std::string wanted = nb::cast<std::string>(key);
    bool found = false;
    options.fields([&](const char* name, auto& member, const char*, const char*, const std::vector<std::string>&) {
      if (wanted != name) return;
      found = true;
      member = typed<std::decay_t<decltype(member)>>(wanted, value);
    });
    if (!found) bad_argument("there is no option '" + wanted + "'");
  }
}

nb::list option_dicts() {
  nb::list all;
  for (auto& o : option_table()) {
    nb::dict d;
    d["name"] = o.name;
    d["type"] = o.type;
    d["default"] = default_of(o);
    d["help"] = o.help;
    d["group"] = o.group;
    d["choices"] = o.choices.empty() ? nb::none() : nb::cast(o.choices);
    all.append(d);
  }
  return all;
}

static TriangularTasks triangular_tasks(const nb::dict& given) {
  TriangularTasks t;
  auto take = [&](const char* name, auto& value) {
    if (given.contains(name)) value = nb::cast<std::decay_t<decltype(value)>>(given[name]);
  };
  take("workers", t.workers);
  take("bandwidth", t.bandwidth);
  take("worker_bandwidth", t.worker_bandwidth);
  take("step_s", t.step_s);
  take("round_s", t.round_s);
  take("small_block_s", t.small_block_s);
  take("small_block_back_s", t.small_block_back_s);
  take("flag_s", t.flag_s);
  take("message_s", t.message_s);
  take("column", t.column);
  take("backward", t.backward);
  return t;
}

// What not every description has is in dictionaries of its own.
Machine machine_of(const nb::object& numbers) {
  if (numbers.is_none()) return {};
  std::map<std::string, double> named;
  auto given = nb::cast<nb::dict>(numbers);
  for (auto [key, value] : given) {
    double number = 0;
    if (nb::try_cast(value, number)) named[nb::cast<std::string>(key)] = number;
  }
  Machine machine = machine_from(named);
  auto number = [](nb::handle of, const char* name) { return nb::cast<double>(of[name]); };
  if (given.contains("paces"))
    for (auto [command, pace] : nb::cast<nb::dict>(given["paces"]))
      machine.paces[nb::cast<std::string>(command)] = {number(pace, "bandwidth"), number(pace, "spread")};
  if (given.contains("interruptions")) {
    nb::object i = given["interruptions"];
    machine.interruptions = {number(i, "hz"), number(i, "seconds")};
    machine.draws = u64(number(i, "draws"));
  }
  if (given.contains("cache")) {
    nb::object c = given["cache"];
    machine.cache = {number(c, "bytes"), number(c, "share"), number(c, "bandwidth")};
  }
  if (given.contains("push")) machine.push_s = number(given["push"], "seconds");
  if (given.contains("late_blocks")) {
    nb::object late = given["late_blocks"];
    machine.late_blocks = {number(late, "rows"), number(late, "seconds")};
  }
  if (given.contains("triangular")) machine.triangular = triangular_tasks(nb::cast<nb::dict>(given["triangular"]));
  validate(machine);
  return machine;
}

nb::dict cause_dict(const Cause& cause) {
  auto known = [](i64 number) { return number >= 0 ? nb::object(nb::cast(number)) : nb::object(nb::none()); };
  nb::dict d;
  d["rank"] = known(cause.rank);
  d["command"] = cause.command.empty() ? nb::object(nb::none()) : nb::object(nb::cast(cause.command));
  d["iteration"] = known(cause.iteration);
  d["expected_epoch"] = known(cause.expected);
  d["seen_epoch"] = known(cause.seen);
  return d;
}

nb::dict report_dict(Report& r, nb::object x) {
  nb::dict d;
  d["x"] = x;
  d["status"] = name(r.status);
  d["reason"] = r.reason;
  d["iterations"] = r.iterations;
  d["true_residual"] = r.true_residual;
  d["residual_norm"] = r.residual_norm;
  d["outside_norm"] = r.outside_norm;
  d["seconds"] = r.seconds;
  d["history"] = owned_array(std::move(r.history));
  nb::list recoveries;
  for (auto& step : r.recoveries) {
    nb::dict e;
    e["iteration"] = step.iteration;
    e["kind"] = name(step.kind);
    e["why"] = step.why;
    e["residual"] = step.residual;
    recoveries.append(e);
  }
  d["recoveries"] = recoveries;
  d["ledger"] = ledger_dict(r.ledger);
  nb::list spans;
  for (auto& s : r.trace) {
    nb::dict e;
    e["rank"] = s.rank;
    e["queue"] = s.queue;
    e["name"] = s.name;
    e["kind"] = name(s.kind);
    e["start_s"] = s.start;
    e["end_s"] = s.end;
    spans.append(e);
  }
  d["trace"] = spans;
  return d;
}

}  // namespace sordino::python

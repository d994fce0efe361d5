// Ranks of a Python program: sordino.run calls a function on each rank's thread, with a communicator of host data.
#include <nanobind/stl/unique_ptr.h>

#include <atomic>

#include "convert.hpp"
#include "of_process.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/communicator.hpp"

namespace sordino::python {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Lists = std::vector<Bytes>;
constexpr int first_channel = 16;  // those below are the library's

/// What outlives a run: Python may keep a communicator or a pending communication for longer.
struct Run {
  OfProcess<Engine> engine;
  std::atomic<bool> ended{false};
  std::vector<unsigned long> threads;  // [local rank] Python's number of it

  void check() const {
    if (ended) bad_argument("the run has ended, and its communicators with it");
  }
  ~Run() {
    if (engine && engine->has_lost_a_rank()) engine.release();  // a rank that never came back may still use it
  }
};

Bytes copied(const nb::bytes& b) {
  auto* first = static_cast<const std::byte*>(b.data());
  return {first, first + b.size()};
}
nb::object as_python(const Bytes& b) { return nb::bytes(b.data(), b.size()); }
nb::object as_python(const std::vector<Bytes>& all) {
  nb::list list;
  for (auto& b : all) list.append(as_python(b));
  return list;
}
template <Foldable T>
nb::object as_python(std::vector<T>& values) {
  return owned_array(std::move(values));
}

/// The second half of a communication. Waits without the GIL.
class PyPending {
 public:
  virtual ~PyPending() = default;
  virtual bool test() = 0;
  virtual nb::object wait() = 0;
};

template <class T>
class PendingOf final : public PyPending {
 public:
  PendingOf(std::shared_ptr<Run> run, Pending<T>&& pending)
      : run_(std::move(run)), pending_(new Pending<T>(std::move(pending))) {}
  // Dropping one unfinished is an error that a destructor cannot report; Python warns of it.
  ~PendingOf() override {
    try {
      delete pending_;
    } catch (const Error&) {
    }
  }
  bool test() override {
    run_->check();
    nb::gil_scoped_release release;
    return pending_->test();
  }
  nb::object wait() override {
    run_->check();
    if constexpr (std::is_void_v<T>) {
      nb::gil_scoped_release release;
      pending_->get();
    } else {
      T values = [&] {
        nb::gil_scoped_release release;
        return pending_->get();
      }();
      return as_python(values);
    }
    return nb::none();
  }

 private:
  std::shared_ptr<Run> run_;
  Pending<T>* pending_;
};

/// Calls visit(T()) for the type of an array's entries.
template <class Visit>
std::unique_ptr<PyPending> with_type(nb::dlpack::dtype type, Visit&& visit) {
  std::unique_ptr<PyPending> result;
  auto try_one = [&]<class T>(T zero) {
    if (!result && type == nb::dtype<T>()) result = visit(zero);
  };
  try_one(double()), try_one(float()), try_one(std::int64_t()), try_one(std::int32_t()), try_one(std::int16_t());
  try_one(std::int8_t()), try_one(std::uint64_t()), try_one(std::uint32_t()), try_one(std::uint16_t()), try_one(std::uint8_t());
  if (!result) bad_argument("arrays of this type are not reduced: floats of 32 and 64 bits and integers are");
  return result;
}

Fold fold_named(const std::string& word) {
  constexpr const char* names[] = {"sum", "product", "min", "max"};
  for (int k = 0; k < 4; k++)
    if (word == names[k]) return Fold(k);
  bad_argument("there is no operation '" + word + "'; there are sum, product, min, max");
}

class PyCommunicator {
 public:
  PyCommunicator(std::shared_ptr<Run> run, Rank& rank) : run_(std::move(run)), rank_(rank), all_(rank, first_channel) {}

  int rank() const { return rank_.id(); }
  int size() const { return rank_.size(); }

  void send(const nb::bytes& data, int to, int tag) {
    run_->check();
    Bytes bytes = copied(data);
    nb::gil_scoped_release release;
    tagged(tag).send(to, bytes);
  }
  std::unique_ptr<PyPending> receive(int from, int tag) {
    return start([&] { return tagged(tag).start_receive<std::byte>(from); });
  }
  std::unique_ptr<PyPending> barrier() {
    return start([&] { return all_.start_barrier(); });
  }
  std::unique_ptr<PyPending> broadcast(const nb::bytes& data, int root) {
    return start([&, bytes = copied(data)] { return all_.start_broadcast(bytes, root); });
  }
  std::unique_ptr<PyPending> gather(const nb::bytes& data, int root) {
    return start([&, bytes = copied(data)] { return all_.start_gather(bytes, root); });
  }
  std::unique_ptr<PyPending> all_gather(const nb::bytes& data) {
    return start([&, bytes = copied(data)] { return all_.start_all_gather(bytes); });
  }
  std::unique_ptr<PyPending> scatter(const std::vector<nb::bytes>& data, int root) {
    return start([&, lists = copied_all(data)] { return all_.start_scatter(lists, root); });
  }
  std::unique_ptr<PyPending> all_to_all(const std::vector<nb::bytes>& data) {
    return start([&, lists = copied_all(data)] { return all_.start_all_to_all(lists); });
  }
  std::unique_ptr<PyPending> reduce(const AnyArray& array, const std::string& operation, int root) {
    return with_type(array.dtype(), [&]<class T>(T) {
      return start([&, values = values_of<T>(array)] { return all_.start_reduce(values, root, fold_named(operation)); });
    });
  }
  std::unique_ptr<PyPending> all_reduce(const AnyArray& array, const std::string& operation, const std::string& algorithm,
                                        int reduce_degree, int broadcast_degree) {
    AllReduceOptions way{algorithm_named(algorithm), reduce_degree, broadcast_degree};
    return with_type(array.dtype(), [&]<class T>(T) {
      return start([&, values = values_of<T>(array)] { return all_.start_all_reduce(values, fold_named(operation), way); });
    });
  }

 private:
  Communicator tagged(int tag) const {
    constexpr int most = Desk::most_channels - first_channel - 2;
    if (tag < 0 || tag > most) bad_argument("tags are 0 to " + std::to_string(most) + ", not " + std::to_string(tag));
    return {rank_, first_channel + 1 + tag};
  }
  /// Starts a communication without the GIL: it may take a lock that another rank's thread holds.
  template <class Begin>
  std::unique_ptr<PyPending> start(Begin&& begin) {
    run_->check();
    nb::gil_scoped_release release;
    return make(begin());
  }
  template <class T>
  std::unique_ptr<PyPending> make(Pending<T>&& pending) {
    return std::make_unique<PendingOf<T>>(run_, std::move(pending));
  }
  template <class T>
  static std::vector<T> values_of(const AnyArray& array) {
    auto* first = static_cast<const T*>(array.data());
    return {first, first + array.size()};
  }
  static Lists copied_all(const std::vector<nb::bytes>& data) {
    Lists lists;
    for (auto& b : data) lists.push_back(copied(b));
    return lists;
  }

  std::shared_ptr<Run> run_;
  Rank& rank_;
  Communicator all_;
};

Errc errc_named(const std::string& word) {
  for (Errc code : {Errc::bad_argument, Errc::io, Errc::device, Errc::unsupported})
    if (word == name(code)) return code;
  return Errc::peer_failed;
}

/// What an error of sordino.errors knows of where it happened.
Cause cause_of(const nb::object& error) {
  auto number = [&](const char* name) {
    nb::object value = nb::getattr(error, name, nb::none());
    return nb::isinstance<nb::int_>(value) ? nb::cast<i64>(value) : i64(-1);
  };
  nb::object command = nb::getattr(error, "command", nb::none());
  return {int(number("rank")), nb::isinstance<nb::str>(command) ? nb::cast<std::string>(command) : "", number("iteration"),
          number("expected_epoch"), number("seen_epoch")};
}

/// What went wrong in a job, in the core's terms: the engine adds the rank, and tells all others.
Error as_error(nb::python_error& raised) {
  nb::object value = nb::borrow(raised.value());
  std::string said = nb::cast<std::string>(nb::str(value));
  if (nb::hasattr(value, "code") && nb::isinstance<nb::str>(value.attr("code")))
    return {errc_named(nb::cast<std::string>(value.attr("code"))), said, cause_of(value)};
  std::string type = nb::cast<std::string>(nb::handle(raised.type()).attr("__name__"));
  return {Errc::peer_failed, said.empty() ? type : type + ": " + said};
}

// By value: a rank that never comes back, or late, still has them.
void call_job(std::shared_ptr<Run> run, const nb::callable& wanted, Rank& rank) {
  nb::gil_scoped_acquire acquire;
  nb::callable job = wanted;
  run->threads[std::size_t(rank.id() - run->engine->first_rank())] = PyThread_get_thread_ident();
  try {
    job(PyCommunicator(run, rank));
  } catch (nb::python_error& raised) {
    throw as_error(raised);
  }
}

// A rank that computes in Python is told there; one that waits here ends with the others.
void look_for_signals(const Run& run) {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return;
  nb::python_error raised;
  for (unsigned long thread : run.threads)
    if (thread) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
  throw raised;
}

void run_ranks(const nb::callable& job, const nb::dict& options) {
  Options o;
  update(o, options);
  validate(o);
  auto run = std::make_shared<Run>();
  nb::gil_scoped_release release;
  run->engine = OfProcess<Engine>(make_engine(o, {}).engine.release());
  run->threads.resize(std::size_t(run->engine->local_ranks()));
  struct End {
    Run& run;
    ~End() { run.ended = true; }
  } end{*run};
  run->engine->run([&](Rank& rank) { call_job(run, job, rank); }, [&] { look_for_signals(*run); });
}

}  // namespace

void define_communicator(nb::module_& m) {
  using namespace nb::literals;
  m.def("run", &run_ranks, "job"_a, "options"_a);
  nb::class_<PyPending>(m, "Pending").def("test", &PyPending::test).def("wait", &PyPending::wait);
  nb::class_<PyCommunicator>(m, "Communicator")
      .def_prop_ro("rank", &PyCommunicator::rank)
      .def_prop_ro("size", &PyCommunicator::size)
      .def("send", &PyCommunicator::send, "data"_a, "to"_a, "tag"_a)
      .def("receive", &PyCommunicator::receive, "from_"_a, "tag"_a)
      .def("barrier", &PyCommunicator::barrier)
      .def("broadcast", &PyCommunicator::broadcast, "data"_a, "root"_a)
      .def("gather", &PyCommunicator::gather, "data"_a, "root"_a)
      .def("all_gather", &PyCommunicator::all_gather, "data"_a)
      .def("scatter", &PyCommunicator::scatter, "data"_a, "root"_a)
      .def("all_to_all", &PyCommunicator::all_to_all, "data"_a)
      .def("reduce", &PyCommunicator::reduce, "array"_a, "operation"_a, "root"_a)
      .def("all_reduce", &PyCommunicator::all_reduce, "array"_a, "operation"_a, "algorithm"_a, "reduce_degree"_a,
           "broadcast_degree"_a);
}

}  // namespace sordino::python

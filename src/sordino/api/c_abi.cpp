#include "sordino/api/c_abi.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <sstream>

#include "sordino/api/callers.hpp"
#include "sordino/config.hpp"

namespace sordino::c_abi {
namespace {

static_assert(SORDINO_CONVERGED == int(Status::converged) && SORDINO_TIME_LIMIT == int(Status::time_limit) &&
              SORDINO_STOPPED_BY_USER == int(Status::stopped_by_user));

struct Word {
  std::string message, error;
};
thread_local Word said;

int code_of(Errc code) { return code == Errc::device || code == Errc::peer_failed ? SORDINO_FAILED : SORDINO_BAD_INPUT; }

template <class T>
T& required(T* pointer, const char* what) {
  if (on_gpu(pointer, what)) throw Error(Errc::unsupported, std::string(what) + " is to be in memory of the host");
  return *pointer;
}

// --- options ---------------------------------------------------------------------------------------------------------------

template <class T>
bool read(const std::string& text, T& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool read(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool read(const std::string& text, std::optional<int>& value) {
  if (text == "auto") value = std::nullopt;
  return text == "auto" || read(text, value.emplace());
}
bool read(const std::string& text, bool& value) {
  value = text == "true";
  return value || text == "false";
}

void set_option(Options& options, const std::string& name, const std::string& text) {
  const std::string meant = option_named(name);
  options.fields([&](const std::string& field, auto& value, const char*, const char*, const std::vector<std::string>&) {
    if (field == meant && !read(text, value)) bad_argument("'" + text + "' is no value of the option " + name);
  });
}

/// Names that are set in `text`, one after the other.
std::vector<std::string> apply_options(const char* text, Options& options) {
  std::vector<std::string> names;
  std::istringstream in(text ? text : "");
  for (std::string pair; in >> pair;) {
    std::size_t equals = pair.find('=');
    if (equals == std::string::npos) bad_argument("'" + pair + "' is not name=value");
    set_option(options, pair.substr(0, equals), pair.substr(equals + 1));
    names.push_back(option_named(pair.substr(0, equals)));
  }
  validate(options);
  return names;
}

// --- rows ------------------------------------------------------------------------------------------------------------------

constexpr i64 most_rows = std::numeric_limits<i32>::max();

/// What else row_starts may be: the first number of others is taken for half a number, or for two. Every row has an entry.
std::string doubt(const i64* starts) {
  bool two = starts[0] >> 32 > 0 && (starts[0] & 0xffffffff) <= 1;
  return two ? ": it looks like numbers of 32 bits, and index_bits is 64" : "";
}
std::string doubt(const i32* starts) {
  return starts[1] == 0 ? ": it looks like numbers of 64 bits, and index_bits is 32" : "";
}

template <class I>
void copy_row_starts(const sordino_rows& m, std::vector<i64>& starts) {
  OnHost<I> given(static_cast<const I*>(m.row_starts), m.rows + 1, "row_starts");
  if (given[0] != m.index_base)  // before more is read, of what may be half as long
    bad_argument("row_starts must begin with index_base, which is " + std::to_string(m.index_base) + ", not with " +
                 std::to_string(given[0]) + doubt(given.data()));
  starts.assign(given.data(), given.data() + m.rows + 1);
  for (i64& start : starts) start -= m.index_base;
  for (i64 i = 0; i < m.rows; i++)  // before anything is read by them
    if (starts[std::size_t(i) + 1] < starts[std::size_t(i)])
      bad_argument("row_starts decreases at row " + std::to_string(m.first_row - m.index_base + i) + doubt(given.data()));
}

template <class I>
void copy_columns(const sordino_rows& m, i64 entries, std::vector<i32>& columns) {
  OnHost<I> given(static_cast<const I*>(m.columns), entries, "columns");
  columns.resize(std::size_t(entries));
  for (i64 k = 0; k < entries; k++) {
    i64 column = i64(given[k]) - m.index_base;
    if (column < 0 || column > most_rows)
      bad_argument("column number " + std::to_string(given[k]) + " of entry " + std::to_string(k) +
                   (column < 0 ? " is less than index_base" : " is beyond 2^31: so many rows are not supported"));
    columns[std::size_t(k)] = i32(column);
  }
}

template <class I>
void copy_indices(const sordino_rows& m, sordino_solver& s) {
  copy_row_starts<I>(m, s.pattern->row_starts);
  copy_columns<I>(m, s.pattern->row_starts.back(), s.pattern->columns);
}

/// Of rows alone n is not known yet.
CsrView take_rows(const sordino_rows* matrix, bool whole, sordino_solver& s) {
  const sordino_rows& m = required(matrix, "the matrix");
  if (m.index_bits != 32 && m.index_bits != 64) bad_argument("index_bits is 32 or 64, not " + std::to_string(m.index_bits));
  if (m.index_base != 0 && m.index_base != 1) bad_argument("index_base is 0 or 1, not " + std::to_string(m.index_base));
  if (m.rows < 0) bad_argument("the number of rows is negative: " + std::to_string(m.rows));
  if (m.rows == 0) bad_argument("there are no rows here, and every process must hold one at least");
  if (m.rows >= most_rows) throw Error(Errc::unsupported, "more than 2^31 rows are not supported");
  if (whole && m.first_row != m.index_base)
    bad_argument("the rows of a whole matrix begin with " + std::to_string(m.index_base) + ", not with " +
                 std::to_string(m.first_row));
  if (m.index_bits == 64)
    copy_indices<i64>(m, s);
  else
    copy_indices<i32>(m, s);
  on_gpu(m.values, "values");  // that they are somewhere
  CsrView view{m.rows, s.pattern->row_starts.data(), s.pattern->columns.data(), m.values};
  view.first_row = m.first_row - m.index_base;
  view.held = m.rows;
  return view;
}

int solved(sordino_solver& s, const double* b, double* x, const double* x0) {
  s.report = s.rows->solve(b, x, x0);
  s.solved = true;
  said = {s.report.reason, ""};
  return s.report.status == Status::converged ? SORDINO_OK : SORDINO_NOT_CONVERGED;
}

void set(sordino_solver& s, const char* options) {
  Options wanted = s.rows->options();
  for (auto& name : apply_options(options, wanted))
    if (name != "rtol" && name != "atol" && name != "maxiter" && name != "time_limit")
      bad_argument("the option " + name + " is fixed when a solver is created; rtol, atol, maxiter and time_limit are not");
  s.rows->options() = wanted;
}

void fill(const sordino_solver& s, sordino_report& r) {
  if (!s.solved) bad_argument("there has been no solve yet");
  const Report& from = s.report;
  r.status = int(from.status);
  r.iterations = from.iterations;
  r.residual_norm = from.residual_norm;
  r.true_residual = from.true_residual;
  r.seconds = from.seconds;
  r.setup_seconds = s.rows->setup_seconds();
  r.reductions = from.ledger.reductions;
  r.messages = from.ledger.messages;
  r.bytes_sent = from.ledger.bytes_sent;
  r.n = s.rows->n();
  r.ranks = s.rows->ranks();
}

}  // namespace

int guarded(const std::function<int()>& job) {
  try {
    return job();
  } catch (...) {
    Error error = caught("", {});
    try {
      said = {error.what(), name(error.code())};
    } catch (...) {  // no memory for a sentence
    }
    return code_of(error.code());
  }
}

double timeout_of(const char* options) {
  Options o;
  try {
    apply_options(options, o);
  } catch (const Error&) {
    return Options().timeout;
  }
  return o.timeout;
}

int create(Accord accord, const sordino_rows* matrix, const char* options, sordino_solver** solver, Options wanted) {
  if (solver) *solver = nullptr;
  auto made = std::make_unique<sordino_solver>();
  CsrView view;
  bool whole = accord.count() == 1;
  accord.together([&] {
    required(solver, "the place for the solver");
    apply_options(options, wanted);
    view = take_rows(matrix, whole, *made);
  });
  made->rows = std::make_unique<RowsSolver>(view, wanted, std::move(accord), made->pattern);
  *solver = made.release();
  return SORDINO_OK;
}

}  // namespace sordino::c_abi

using namespace sordino;
using namespace sordino::c_abi;

extern "C" {

int sordino_create(const sordino_rows* matrix, const char* options, sordino_solver** solver) {
  return guarded([&] { return create(Accord(nullptr), matrix, options, solver); });
}

int sordino_solve(sordino_solver* solver, const double* b, double* x, const double* x0) {
  return guarded([&] { return solved(required(solver, "the solver"), b, x, x0); });
}

int sordino_update_values(sordino_solver* solver, const double* values) {
  return guarded([&] {
    required(solver, "the solver").rows->update_values(values);
    return SORDINO_OK;
  });
}

int sordino_set_stream(sordino_solver* solver, void* stream) {
  return guarded([&] {
    required(solver, "the solver").rows->set_stream(stream);
    return SORDINO_OK;
  });
}

int sordino_set(sordino_solver* solver, const char* options) {
  return guarded([&] {
    set(required(solver, "the solver"), options);
    return SORDINO_OK;
  });
}

void sordino_destroy(sordino_solver* solver) {
  guarded([&] {
    delete solver;
    return SORDINO_OK;
  });
}

int sordino_figures(const sordino_solver* solver, sordino_report* report) {
  return guarded([&] {
    fill(required(solver, "the solver"), required(report, "the report"));
    return SORDINO_OK;
  });
}

int64_t sordino_history(const sordino_solver* solver, double* values, int64_t capacity) {
  if (!solver) return 0;
  const std::vector<double>& history = solver->report.history;
  if (values) std::copy_n(history.begin(), std::clamp<i64>(capacity, 0, i64(history.size())), values);
  return i64(history.size());
}

int64_t sordino_recoveries(const sordino_solver* solver, sordino_recovery* recoveries, int64_t capacity) {
  if (!solver) return 0;
  const std::vector<Recovery>& all = solver->report.recoveries;
  const i64 count = recoveries ? std::clamp<i64>(capacity, 0, i64(all.size())) : 0;
  std::transform(all.begin(), all.begin() + count, recoveries,
                 [](const Recovery& r) { return sordino_recovery{r.iteration, name(r.kind), r.why.c_str(), r.residual}; });
  return i64(all.size());
}

const char* sordino_method(const sordino_solver* solver) { return solver ? solver->rows->method().c_str() : ""; }
const char* sordino_preconditioner(const sordino_solver* solver) {
  return solver ? solver->rows->preconditioner().c_str() : "";
}
const char* sordino_engine(const sordino_solver* solver) { return solver ? solver->rows->engine() : ""; }
const char* sordino_status_name(int status) {
  bool known = status >= 0 && status <= SORDINO_STOPPED_BY_USER;
  return known ? name(Status(status)) : "unknown";
}
const char* sordino_message(void) { return said.message.c_str(); }
const char* sordino_error(void) { return said.error.c_str(); }
const char* sordino_version(void) { return SORDINO_VERSION; }

#if !SORDINO_WITH_MPI
int sordino_create_mpi_fortran(int, const sordino_rows*, const char*, sordino_solver** solver) {
  return guarded([&]() -> int {
    if (solver) *solver = nullptr;
    throw Error(Errc::unsupported, "this build has no MPI: build Sordino with SORDINO_MPI=ON");
  });
}
#endif

}  // extern "C"

// Runs the tests that were added to this executable:
//
//   sordino_unit                          all of them
//   sordino_unit "empty" "~[gpu]"         those with `empty` in their name, but without `[gpu]`
//   sordino_unit --file unit/base/a.cpp   those of one source file
//   sordino_unit --list                   only their names
//
// Prints each failure and each skipped test, and closes with `N passed, N failed, N skipped`.
// Returns 0, 1 when a test failed, 2 for a bad command line, 77 when nothing ran because everything was
// skipped.
//
// With CHECK_WITH_MPI every process runs every test, and only the first prints the closing line; a test that
// ends early in one process aborts all of them, for the others would wait for it.
#include "check.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>

#if defined(CHECK_WITH_MPI)
#include <mpi.h>
#endif

namespace check {
namespace {

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

std::mutex mutex;  // guards the notes and the output
std::vector<std::string> notes;
std::atomic<int> failures = 0;  // of the running test
std::string running;
int process = 0;

struct Selection {
  std::vector<std::string> wanted, unwanted;
  std::string file;

  bool takes(const Test& test) const {
    const auto named = [&](const std::string& part) { return test.name.find(part) != std::string::npos; };
    if (!test.file.ends_with(file) || std::ranges::any_of(unwanted, named)) return false;
    return wanted.empty() || std::ranges::any_of(wanted, named);
  }
};

struct Count {
  int passed = 0, failed = 0, skipped = 0;
};

[[maybe_unused]] void abort_all_processes() {
#if defined(CHECK_WITH_MPI)
  MPI_Abort(MPI_COMM_WORLD, 1);
#endif
}

/// A crash ends the program before it can say where: this names the test, and leaves the rest to who came before.
struct Obituary {
  static inline char name[256];
  static inline struct sigaction before[NSIG];

  static void write(int signal) {
    constexpr char words[] = "crashed: ";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, words, sizeof words - 1);
    written = ::write(STDERR_FILENO, name, std::strlen(name));
    written = ::write(STDERR_FILENO, "\n", 1);
    sigaction(signal, &before[signal], nullptr);  // the instruction is tried again
  }
  static void prepare() {
    struct sigaction action{};
    action.sa_handler = write;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigaction(signal, &action, &before[signal]);
  }
};

void run(const Test& test, Count& count) {
  failures = 0;
  running = test.name;
  std::snprintf(Obituary::name, sizeof Obituary::name, "%s", test.name.c_str());
  try {
    test.body();
  } catch (const Skip& skip) {
    if (failures == 0) {
      if (process == 0) std::printf("skipped: %s: %s\n", test.name.c_str(), skip.reason.c_str());
      ++count.skipped;
      return;
    }
  } catch (const Stop&) {
    abort_all_processes();
  } catch (const std::exception& error) {
    fail(test.file.c_str(), 0, std::string("ended by an exception: ") + error.what());
    abort_all_processes();
  } catch (...) {
    fail(test.file.c_str(), 0, "ended by an exception that is no std::exception");
    abort_all_processes();
  }
  ++(failures == 0 ? count.passed : count.failed);
}

}  // namespace

int add(std::string name, std::string file, std::function<void()> body) {
  tests().push_back({std::move(name), std::move(file), std::move(body)});
  return 0;
}

void fail(const char* file, int line, const std::string& what) {
  const std::lock_guard lock(mutex);
  if (failures++ == 0) {
    std::printf("failed: %s", running.c_str());
    std::printf(process ? " (process %d)\n" : "\n", process);
  }
  std::printf("  %s:%d: %s\n", file, line, what.c_str());  // line 0: somewhere in the test
  for (const std::string& note : notes) std::printf("    where %s\n", note.c_str());
  std::fflush(stdout);
}

void push_note(std::string note) {
  const std::lock_guard lock(mutex);
  notes.push_back(std::move(note));
}

void pop_note() {
  const std::lock_guard lock(mutex);
  notes.pop_back();
}

int run_all(const Selection& selection, bool only_list) {
  Count count;
  for (const Test& test : tests()) {
    if (!selection.takes(test)) continue;
    if (only_list) {
      std::printf("%s\n", test.name.c_str());
    } else {
      run(test, count);
    }
  }
  if (only_list) return 0;
  if (process == 0) {
    if (count.passed + count.failed + count.skipped == 0) std::printf("skipped: no test is selected\n");
    std::printf("%d passed, %d failed, %d skipped\n", count.passed, count.failed, count.skipped);
  }
  if (count.failed) return 1;
  return count.passed ? 0 : 77;
}

}  // namespace check

int main(int argc, char** argv) {
#if defined(CHECK_WITH_MPI)
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &check::process);
#endif
  check::Obituary::prepare();
  check::Selection selection;
  bool only_list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--list") {
      only_list = true;
    } else if (argument == "--file" && i + 1 < argc) {
      selection.file = argv[++i];
    } else if (argument.starts_with("--")) {
      std::fprintf(stderr, "usage: %s [--list] [--file FILE] [PART OF A NAME | ~PART OF A NAME]...\n", argv[0]);
      return 2;
    } else if (argument.starts_with("~")) {
      selection.unwanted.push_back(argument.substr(1));
    } else {
      selection.wanted.push_back(argument);
    }
  }
  const int status = check::run_all(selection, only_list);
#if defined(CHECK_WITH_MPI)
  MPI_Finalize();
#endif
  return status;
}

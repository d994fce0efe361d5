// Processes of one hall that are children of the test, which is the first of them; no launcher takes part. A child runs one
// test of the same executable, which finds its setting in the environment.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "support.hpp"

namespace spawned {

using namespace sordino;

constexpr const char* variable = "SORDINO_TEST_HALL";  // "name process patience nccl ranks ranks ..."
struct Setting {
  std::string name;
  int process = 0;
  double patience = 10;  // seconds
  bool nccl = false;     // carries what they send
  std::vector<int> ranks;

  std::string text() const {
    std::ostringstream out;
    out << name << " " << process << " " << patience << " " << nccl;
    for (int n : ranks) out << " " << n;
    return out.str();
  }
};

inline Setting setting_in(const char* text) {
  std::istringstream in(text);
  Setting s;
  in >> s.name >> s.process >> s.patience >> s.nccl;
  for (int n; in >> n;) s.ranks.push_back(n);
  return s;
}

/// One GPU a rank, or one for all, on which the processes take turns.
inline cuda::Options options_of(const Setting& s, int gpus) {
  int all = 0;
  for (int n : s.ranks) all += n;
  cuda::Options o = gpus < all ? test::spinning() : cuda::Options{};
  o.timeout = s.patience;
  return s.nccl ? test::by_nccl(o) : o;
}

using test::gpus;

/// The other processes, whose output ends with what ended their solve.
class Children {
 public:
  Children(Setting s, const std::string& test) {
    for (s.process = 1; s.process < int(s.ranks.size()); s.process++) {
      int ends[2];
      REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
      posix_spawn_file_actions_t files;
      posix_spawn_file_actions_init(&files);
      posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
      setenv(variable, s.text().c_str(), 1);
      std::string program = "/proc/self/exe", wanted = test;
      char* arguments[] = {program.data(), wanted.data(), nullptr};
      pid_t pid = -1;
      int error = posix_spawn(&pid, program.c_str(), &files, nullptr, arguments, environ);
      posix_spawn_file_actions_destroy(&files);
      unsetenv(variable);
      close(ends[1]);
      children_.push_back({pid, ends[0]});
      REQUIRE(error == 0);
    }
  }
  ~Children() {
    for (auto& c : children_) {
      if (c.pid > 0) kill(c.pid, SIGKILL), waitpid(c.pid, nullptr, 0);
      close(c.output);
    }
  }
  void send(int process, int signal) { kill(children_[std::size_t(process - 1)].pid, signal); }
  /// All that a child has said; waits for its end.
  std::string said_by(int process) {
    std::string text;
    char piece[512];
    for (ssize_t n; (n = ::read(children_[std::size_t(process - 1)].output, piece, sizeof piece)) > 0;)
      text.append(piece, std::size_t(n));
    return text;
  }

 private:
  struct Child {
    pid_t pid;
    int output;
  };
  std::vector<Child> children_;
};

inline std::vector<std::vector<int>> layouts() {
  if (gpus() >= 4) return {{1, 1, 1, 1}, {2, 1, 1}, {1, 2}};
  if (gpus() >= 3) return {{1, 1, 1}, {2, 1}};
  return {{1, 1}};
}

/// In a child: what the parent has set up; skips the test where there is no parent.
inline Setting setting_of_child() {
  const char* text = std::getenv(variable);
  if (!text) SKIP("the tests below start it");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(150);
  test::enable_kernels();
  return setting_in(text);
}

}  // namespace spawned

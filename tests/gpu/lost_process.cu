// A process of several that dies, or is stopped, in the middle of a long solve: all survivors end with the same cause, in
// bounded time. The processes are this one and children of it that run one of these tests; no launcher takes part.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "grid.hpp"
#include "support.hpp"

using namespace sordino;
using test::Cg;

namespace {

constexpr const char* variable = "SORDINO_TEST_HALL";  // "name process patience ranks ranks ..."
constexpr const char* child_test = "lost process: a child of the tests below";

struct Setting {
  std::string name;
  int process = 0;
  double patience = 10;  // seconds
  std::vector<int> ranks;

  std::string text() const {
    std::ostringstream out;
    out << name << " " << process << " " << patience;
    for (int n : ranks) out << " " << n;
    return out.str();
  }
};

Setting setting_in(const char* text) {
  std::istringstream in(text);
  Setting s;
  in >> s.name >> s.process >> s.patience;
  for (int n; in >> n;) s.ranks.push_back(n);
  return s;
}

/// One GPU a rank, or one for all, on which the processes take turns.
cuda::Options options_of(const Setting& s, int gpus) {
  int all = 0;
  for (int n : s.ranks) all += n;
  cuda::Options o = gpus < all ? test::spinning() : cuda::Options{};
  o.timeout = s.patience;
  return o;
}

int gpus() { return int(cuda::device_report().devices.size()); }

/// Solves without an end. Returns what ended it.
std::string endless(std::unique_ptr<Hall> hall, const Setting& s, const std::function<void()>& meanwhile = {}) {
  try {
    cuda::CudaEngine engine(options_of(s, gpus()), std::move(hall));
    engine.run(
        [](Rank& rank) {
          Cg cg(rank, 24, 24, 24, 10);
          auto b = cg.right_hand_side();
          for (;;) cg.solve(b.data(), 0, 200);
        },
        meanwhile);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

/// The other processes, whose output ends with what ended their solve.
class Children {
 public:
  Children(Setting s) {
    for (s.process = 1; s.process < int(s.ranks.size()); s.process++) {
      int ends[2];
      REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
      posix_spawn_file_actions_t files;
      posix_spawn_file_actions_init(&files);
      posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
      setenv(variable, s.text().c_str(), 1);
      std::string program = "/proc/self/exe", wanted = child_test;
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

std::vector<std::vector<int>> layouts() {
  if (gpus() >= 4) return {{1, 1, 1, 1}, {2, 1, 1}, {1, 2}};
  if (gpus() >= 3) return {{1, 1, 1}, {2, 1}};
  return {{1, 1}};
}

/// The last process gets a signal while all solve. Checks that all others say the same, and returns it.
std::string ended_by(int signal, const std::vector<int>& ranks, double patience, double most_seconds) {
  Setting s;
  s.patience = patience;
  s.ranks = ranks;
  auto hall = Hall::make(ranks);
  s.name = hall->name();
  Hall* here = hall.get();
  Children children(s);
  int last = int(ranks.size()) - 1;
  bool sent = false;
  u64 first_beats = 0;
  auto begin = std::chrono::steady_clock::now(), sent_at = begin;
  auto meanwhile = [&] {
    if (first_beats == 0) here->remove_name(), first_beats = here->heartbeats() + 1;
    auto now = std::chrono::steady_clock::now();
    if (sent || now - begin > std::chrono::seconds(60)) return;
    if (here->heartbeats() < first_beats + 100) return;  // until all are well under way
    children.send(last, signal);
    sent = true;
    sent_at = now;
  };
  std::string cause = endless(std::move(hall), s, meanwhile);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - sent_at).count();
  NOTE("process 0 says: ", cause, ", ", seconds, " s after the signal");
  CHECK(sent);
  CHECK(seconds < most_seconds);
  for (int p = 1; p < last; p++) {
    std::string said = children.said_by(p);
    NOTE("process ", p, " says: ", said);
    CHECK(said.find("ended by: " + cause + "\n") != std::string::npos);
  }
  return cause;
}

void works() {
  auto gpu = test::cuda_engine(2);
  gpu->run(
      [](Rank& rank) {
        Cg cg(rank, 16, 16, 16, 10);
        CHECK(cg.solve(cg.right_hand_side().data(), 1e-10, 300).verdict == met);
      },
      {});
}

}  // namespace

TEST("lost process: a child of the tests below") {
  const char* text = std::getenv(variable);
  if (!text) SKIP("the tests below start it");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(150);
  Setting s = setting_in(text);
  test::enable_kernels();
  std::string cause = endless(Hall::enter(s.name, s.ranks, s.process), s);
  std::printf("ended by: %s\n", cause.c_str());
  std::fflush(stdout);
}

TEST("lost process: one that is killed is named by all others, and the GPUs work for new ones") {
  test::need_gpu();
  for (auto& ranks : layouts()) {
    NOTE("layout ", check::text(ranks));
    std::string cause = ended_by(SIGKILL, ranks, 10, 8);
    int all = 0;
    for (int n : ranks) all += n;
    std::string lost = ranks.back() == 1
                           ? "rank " + std::to_string(all - 1) + " is lost: process "
                           : "ranks " + std::to_string(all - 2) + " to " + std::to_string(all - 1) + " are lost: ";
    CHECK(cause.starts_with(lost));
    CHECK(cause.ends_with(", has died"));
    works();
  }
}

TEST("lost process: one that is stopped ends the patience of all others, who say the same") {
  test::need_gpu();
  std::string cause = ended_by(SIGSTOP, layouts()[0], 2, 20);
  CHECK(cause.find("waited 2 s without any progress for ") != std::string::npos);
  works();
}

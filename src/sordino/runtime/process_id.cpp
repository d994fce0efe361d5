#include "sordino/runtime/process_id.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace sordino {
namespace {

constexpr u64 kernels_exiting = 4;  // PF_EXITING of Linux

struct Stat {
  char state = 0;
  bool exiting = false;
  u64 born = 0;
};

// /proc/N/stat: number (name) state ..., where the name may hold anything. The 9th word holds flags of the kernel, one of which
// says that the process is on its way out, which takes long where it had a GPU; the 22nd is when it was born.
Stat stat_of(const std::string& who) {
  std::ifstream file("/proc/" + who + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  Stat s;
  auto name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return s;
  std::istringstream words(text.substr(name_ends + 1));
  std::string word;
  for (int k = 3; k <= 22 && words >> word; k++) {
    if (k == 3) s.state = word[0];
    if (k == 9) s.exiting = std::strtoull(word.c_str(), nullptr, 10) & kernels_exiting;
    if (k == 22) s.born = std::strtoull(word.c_str(), nullptr, 10);
  }
  return s;
}

u64 numbering_here() {
  struct stat s{};
  return stat("/proc/self/ns/pid", &s) == 0 ? u64(s.st_ino) : 0;
}

}  // namespace

ProcessId this_process() { return {i64(getpid()), stat_of("self").born, numbering_here()}; }

bool has_ended(const ProcessId& process) {
  static const u64 here = numbering_here();
  if (process.numbering != here) return false;
  if (kill(pid_t(process.number), 0) != 0 && errno == ESRCH) return true;
  Stat now = stat_of(std::to_string(process.number));
  if (now.state == 'Z' || now.state == 'X' || now.exiting) return true;  // its parent has not asked for it yet
  return process.born != 0 && now.born != 0 && now.born != process.born;
}

}  // namespace sordino

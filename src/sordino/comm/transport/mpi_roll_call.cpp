#include "sordino/comm/transport/mpi_roll_call.hpp"

#include <algorithm>
#include <cstring>

namespace sordino::mpi {
namespace {

std::string in_words(const std::vector<int>& processes) {
  constexpr std::size_t most = 4;
  if (processes.empty()) return "the other processes";
  std::string words = processes.size() == 1 ? "process " : "processes ";
  const std::size_t named = std::min(most, processes.size()), others = processes.size() - named;
  for (std::size_t k = 0; k < named; k++) {
    bool last = k > 0 && k + 1 == processes.size();
    words += (k == 0 ? "" : last ? " and " : ", ") + std::to_string(processes[k]);
  }
  return others == 0 ? words : words + " and " + std::to_string(others) + " more";
}

bool ended(Sending& s) {
  int done = 0;
  MPI_Test(&s.request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

}  // namespace

void RollCall::say_here(MPI_Comm comm, i64 wait) {
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  sending_.remove_if(ended);
  for (int p = 0; p < processes; p++) {
    if (p == process) continue;
    Sending& word = sending_.emplace_back();
    word.buffer.resize(sizeof wait);
    std::memcpy(word.buffer.data(), &wait, sizeof wait);
    MPI_Isend(word.buffer.data(), int(sizeof wait), MPI_BYTE, p, here_tag, comm, &word.request);
  }
}

std::string RollCall::absent(MPI_Comm comm, i64 wait) {
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  std::vector<bool> here(static_cast<std::size_t>(processes));
  here[std::size_t(process)] = true;
  for (int there = 1; there;) {  // words of earlier waits among them
    MPI_Status status;
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, here_tag, comm, &there, &message, &status);
    if (!there) break;
    i64 of = 0;
    MPI_Mrecv(&of, int(sizeof of), MPI_BYTE, &message, &status);
    if (of == wait) here[std::size_t(status.MPI_SOURCE)] = true;
  }
  std::vector<int> absent;
  for (int p = 0; p < processes; p++)
    if (!here[std::size_t(p)]) absent.push_back(p);
  return in_words(absent);
}

}  // namespace sordino::mpi

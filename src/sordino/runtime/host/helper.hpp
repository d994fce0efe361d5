// A thread that lets the collectives of a process' ranks go on, so that none needs its rank's attention.
#pragma once
#include <thread>

#include "sordino/runtime/host/bell.hpp"

namespace sordino::host {

class HostEngine;

/// Sleeps while no letter comes, so that it leaves the cores to the ranks; where ranks of other processes send, which cannot
/// ring, it looks for their messages now and then as long as something is under way.
class Helper {
 public:
  explicit Helper(HostEngine& engine) : engine_(engine) {}
  void start() {
    thread_ = std::jthread([this](const std::stop_token& ends) { work(ends); });
  }
  void stop() {
    thread_.request_stop();
    bell_.ring();
    thread_.join();
  }
  void ring() { bell_.ring(); }

 private:
  void work(const std::stop_token& ends);
  u64 letters() const;
  bool attend();  // whether anything is under way

  HostEngine& engine_;
  Bell bell_;
  std::jthread thread_;
};

}  // namespace sordino::host

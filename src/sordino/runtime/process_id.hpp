// Who a process of this host is, so that others can tell whether it still lives.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

/// A number alone would be given to another process one day. Plain data.
struct ProcessId {
  i64 number = 0;
  u64 born = 0;       // in ticks since the host was started; 0: not known
  u64 numbering = 0;  // processes of different containers count apart
};

ProcessId this_process();

/// Whether it has ended, waited for by its parent or not. False as well where this process cannot tell.
bool has_ended(const ProcessId& process);

}  // namespace sordino

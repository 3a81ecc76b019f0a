//===- launcher.h - addresses from who started the processes ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PMIx, which mpirun and srun speak: it numbers the processes that it starts,
// and carries what each has to say to the others before they can connect. The
// library is opened when it is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_CLUSTER_LAUNCHER_H
#define WEIR_RUNTIME_CLUSTER_LAUNCHER_H

#include <stdint.h>
#include <string>
#include <vector>

namespace weir::rt::cluster {

class Launcher {
public:
  Launcher() = default;
  /// Says goodbye, without which a launcher takes the process for crashed.
  ~Launcher();
  Launcher(const Launcher &) = delete;

  /// False, with the reason, when no launcher started this process, or PMIx is
  /// not there.
  bool start(std::string &error);
  int32_t rank() const { return ownRank; }
  int32_t size() const { return jobSize; }
  /// Gives `own` to all processes of the job and takes theirs, by rank. Waits
  /// until all have come here. Says goodbye then: a launcher's PMIx server takes
  /// the job down where a process dies that has not.
  bool exchange(const std::string &own, std::vector<std::string> &all, std::string &error);

private:
  void leave();
  struct Functions;
  Functions *functions = nullptr;
  bool started = false;
  std::string space;
  int32_t ownRank = -1, jobSize = 0;
};

} // namespace weir::rt::cluster

#endif // WEIR_RUNTIME_CLUSTER_LAUNCHER_H

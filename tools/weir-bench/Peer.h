//===- Peer.h - another engine in a side process ----------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_BENCH_PEER_H
#define WEIR_TOOLS_WEIR_BENCH_PEER_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace weir::tools {

/// The Python that knows the engines: WEIR_PYTHON, else python3.
const char *peerPython();

/// A Python process that runs models in another engine when told to, so that
/// rounds of both can take turns. Not thread-safe.
class Peer {
public:
  /// `folder` is a folder for the script.
  Peer(std::string engine, std::string folder)
      : name(std::move(engine)), folder(std::move(folder)) {}
  ~Peer();
  Peer(const Peer &) = delete;
  Peer &operator=(const Peer &) = delete;

  /// Starts the process. False, with the reason in `error`, where there is no
  /// such Python.
  bool start(int threads, std::string &error);

  /// Loads a model in place of the one before. `inputs` and `outputs` are .npz
  /// files, the second written by the engine's first run. False, with the reason
  /// in `error`: not installed, or it refuses the model.
  bool load(const std::string &model, const std::string &inputs, const std::string &outputs,
            std::string &error);

  /// Milliseconds of `count` runs; empty when the process is gone.
  std::vector<double> run(int count);

  const std::string &engine() const { return name; }
  const std::string &version() const { return versionText; }
  double loadMs() const { return loadTime; }

private:
  bool readLine(std::string &line);
  bool writeLine(const std::string &line);

  std::string name, folder, versionText, pending;
  double loadTime = 0;
  pid_t pid = -1;
  int toPeer = -1, fromPeer = -1;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_BENCH_PEER_H

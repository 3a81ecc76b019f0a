//===- Metrics.h - figures that a monitor may ask for -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TOOLS_WEIR_RUN_METRICS_H
#define WEIR_TOOLS_WEIR_RUN_METRICS_H

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace weir::tools {

/// Figures, and a thread that answers `GET /metrics` in Prometheus' text format and
/// `GET /healthz` with "ok", one question at a time. Thread-safe.
class Metrics {
public:
  /// Listens at the port of all interfaces; 0: any (see port()). Null, with the reason.
  static std::unique_ptr<Metrics> create(int port, std::string &error);
  ~Metrics();
  Metrics(const Metrics &) = delete;

  int port() const { return ownPort; }
  /// A figure that only grows.
  void count(const std::string &name, const char *help, double by = 1);
  /// One that is what it is now. `labels`: `device="0"`, or nothing.
  void set(const std::string &name, const char *help, double value, const std::string &labels = "");
  /// Called before each answer, to set what nobody tells of.
  void onAsked(std::function<void(Metrics &)> refresh);
  /// Nothing is called from here on.
  void stopRefreshing() { onAsked({}); }
  std::string text();

private:
  Metrics() = default;
  void run();
  void answer(int socket);

  struct Family {
    std::string help;
    bool isCounter = false;
    std::map<std::string, double> values; ///< by labels
  };
  std::mutex mutex; ///< guards figures
  std::map<std::string, Family> families;
  std::mutex refreshing; ///< held while `refresh` is called
  std::function<void(Metrics &)> refresh;
  int listening = -1, ownPort = 0;
  std::atomic<bool> stop{false};
  std::thread thread;
};

} // namespace weir::tools

#endif // WEIR_TOOLS_WEIR_RUN_METRICS_H

//===- Peer.cpp - another engine in a side process ------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-bench/Peer.h"

#include "tools/common/Files.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weir::tools;

namespace {

constexpr char script[] =
#include "peers.inc"
    ;

} // namespace

const char *weir::tools::peerPython() {
  const char *chosen = std::getenv("WEIR_PYTHON");
  return chosen && *chosen ? chosen : "python3";
}

Peer::~Peer() {
  if (pid <= 0)
    return;
  close(toPeer);
  close(fromPeer);
  // The script ends with its input; an engine that hangs does not.
  for (int tries = 0; tries < 100; ++tries) {
    if (waitpid(pid, nullptr, WNOHANG) != 0)
      return;
    usleep(20000);
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

bool Peer::readLine(std::string &line) {
  while (true) {
    size_t end = pending.find('\n');
    if (end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return true;
    }
    char buffer[4096];
    ssize_t got = read(fromPeer, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    pending.append(buffer, got);
  }
}

bool Peer::start(int threads, std::string &error) {
  std::string path = folder + "/peers.py";
  if (!writeFile(path, script, error))
    return false;
  std::signal(SIGPIPE, SIG_IGN); // a peer that is gone is no end of ours
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
    error = "no pipe can be made";
    return false;
  }
  std::string count = std::to_string(threads);
  pid = fork();
  if (pid == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    int nothing = ::open("/dev/null", O_WRONLY);
    if (nothing >= 0)
      dup2(nothing, STDERR_FILENO);
    setenv("OMP_NUM_THREADS", count.c_str(), 1);
    execlp(peerPython(), peerPython(), path.c_str(), name.c_str(), count.c_str(),
           static_cast<char *>(nullptr));
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  toPeer = down[1];
  fromPeer = up[0];
  std::string line;
  if (pid < 0 || !readLine(line)) {
    error = std::string(peerPython()) + " does not run the side process";
    return false;
  }
  return true;
}

bool Peer::load(const std::string &model, const std::string &inputs, const std::string &outputs,
                std::string &error) {
  std::string line;
  llvm::raw_string_ostream(line) << llvm::json::Value(
      llvm::json::Object{{"model", model}, {"inputs", inputs}, {"outputs", outputs}});
  if (!writeLine(line) || !readLine(line)) {
    error = "the side process ended";
    return false;
  }
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    error = "unexpected answer: " + line;
    return false;
  }
  const llvm::json::Object *facts = parsed->getAsObject();
  if (!facts || !facts->getBoolean("ready").value_or(false)) {
    error = facts ? facts->getString("error").value_or("?").str() : line;
    return false;
  }
  versionText = facts->getString("version").value_or("?").str();
  loadTime = facts->getNumber("load_ms").value_or(0);
  return true;
}

bool Peer::writeLine(const std::string &line) {
  std::string text = line + "\n";
  return write(toPeer, text.data(), text.size()) == ssize_t(text.size());
}

std::vector<double> Peer::run(int count) {
  std::string line;
  std::vector<double> times;
  if (!writeLine(std::to_string(count)) || !readLine(line))
    return times;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(line);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return times;
  }
  if (const llvm::json::Object *facts = parsed->getAsObject())
    if (const llvm::json::Array *list = facts->getArray("ms"))
      for (const llvm::json::Value &value : *list)
        times.push_back(value.getAsNumber().value_or(0));
  return times;
}

//===- Metrics.cpp - figures that a monitor may ask for -------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-run/Metrics.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace weir::tools;

std::unique_ptr<Metrics> Metrics::create(int port, std::string &error) {
  std::unique_ptr<Metrics> made(new Metrics());
  made->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int one = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  socklen_t size = sizeof(address);
  if (made->listening < 0 ||
      setsockopt(made->listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
      bind(made->listening, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
      listen(made->listening, 8) != 0 ||
      getsockname(made->listening, reinterpret_cast<sockaddr *>(&address), &size) != 0) {
    error = std::strerror(errno);
    return nullptr;
  }
  made->ownPort = ntohs(address.sin_port);
  made->thread = std::thread([metrics = made.get()] { metrics->run(); });
  return made;
}

Metrics::~Metrics() {
  stop = true;
  if (thread.joinable())
    thread.join();
  if (listening >= 0)
    close(listening);
}

void Metrics::count(const std::string &name, const char *help, double by) {
  std::lock_guard<std::mutex> lock(mutex);
  Family &family = families[name];
  family.help = help;
  family.isCounter = true;
  family.values[""] += by;
}

void Metrics::set(const std::string &name, const char *help, double value,
                  const std::string &labels) {
  std::lock_guard<std::mutex> lock(mutex);
  Family &family = families[name];
  family.help = help;
  family.values[labels] = value;
}

void Metrics::onAsked(std::function<void(Metrics &)> made) {
  std::lock_guard<std::mutex> lock(refreshing);
  refresh = std::move(made);
}

std::string Metrics::text() {
  {
    std::lock_guard<std::mutex> lock(refreshing);
    if (refresh)
      refresh(*this);
  }
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  for (const auto &[name, family] : families) {
    text += "# HELP " + name + " " + family.help + "\n# TYPE " + name +
            (family.isCounter ? " counter\n" : " gauge\n");
    for (const auto &[labels, value] : family.values) {
      char number[64];
      std::snprintf(number, sizeof(number), " %.17g\n", value);
      text += name + (labels.empty() ? "" : "{" + labels + "}") + number;
    }
  }
  return text;
}

void Metrics::run() {
  while (!stop) {
    pollfd polled = {listening, POLLIN, 0};
    if (poll(&polled, 1, 100) <= 0)
      continue;
    int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0)
      continue;
    // Who says nothing is not waited for long.
    timeval patience = {1, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    answer(client);
    close(client);
  }
}

void Metrics::answer(int client) {
  std::string request;
  char bytes[1024];
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < 8192) {
    ssize_t got = recv(client, bytes, sizeof(bytes), 0);
    if (got <= 0)
      return;
    request.append(bytes, static_cast<size_t>(got));
  }
  bool isMetrics = request.starts_with("GET /metrics "),
       isHealth = request.starts_with("GET /healthz ");
  std::string body = isMetrics ? text() : isHealth ? "ok\n" : "possible: /metrics, /healthz\n";
  std::string reply = isMetrics || isHealth ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not Found\r\n";
  reply += "Content-Type: text/plain; version=0.0.4\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
  for (size_t at = 0; at < reply.size();) {
    ssize_t sent = send(client, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
    if (sent <= 0)
      return;
    at += static_cast<size_t>(sent);
  }
}

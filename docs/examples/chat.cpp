//===- chat.cpp - characters, one at a time -------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text that goes on: a model of language with key and value caches, and sampling among the K
// likeliest characters. The caches are outputs of one step and inputs of the next; two sets of
// buffers take turns, so that nothing is copied by the program.
//
//   python3 models.py . && weirc chat.pbtxt --fetch=logits --fetch=next_keys --fetch=next_values -o
//   chat.o c++ -std=c++17 chat.cpp chat.o libweir_runtime.a -pthread -o chat
//   ./chat "to be or not to be, " 20 0.5 4
//
//===----------------------------------------------------------------------===//

#include "chat.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

constexpr int size = 128, length = 256; // characters, places of the caches

/// One of the `k` likeliest, by their probabilities at a temperature; 0: the likeliest.
static int sample(weir::Span<const float> logits, double temperature, size_t k,
                  std::mt19937 &random) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + long(k), order.end(),
                    [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  if (temperature <= 0)
    return int(order[0]);
  std::vector<double> weights;
  for (size_t i = 0; i < k; ++i)
    weights.push_back(std::exp(double(logits[order[i]] - logits[order[0]]) / temperature));
  return int(order[std::discrete_distribution<size_t>(weights.begin(), weights.end())(random)]);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return std::puts("usage: chat PROMPT [COUNT [TEMPERATURE [K]]]"), 2;
  std::string text = argv[1];
  const size_t count = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20;
  const double temperature = argc > 3 ? std::atof(argv[3]) : 0;
  const size_t k = size_t(std::clamp(argc > 4 ? std::atoi(argv[4]) : 4, 1, size));
  const size_t end = std::min<size_t>(text.size() + count, length);

  chat::Model model;
  std::mt19937 random(1);
  std::vector<float> keys[2], values[2];
  for (int set : {0, 1}) {
    keys[set].resize(length * size);
    values[set].resize(length * size);
  }
  for (size_t at = 0; at + 1 < end; ++at) {
    const size_t now = at % 2, then = 1 - now;
    model.previous()[0] = at ? text[at - 1] & 127 : 0;
    model.last()[0] = text[at] & 127;
    model.position()[0] = int32_t(at);
    model.bind_keys(keys[now].data());
    model.bind_values(values[now].data());
    for (weir::Status status :
         {model.bind_next_keys(keys[then].data(), keys[then].size()),
          model.bind_next_values(values[then].data(), values[then].size()), model.run()})
      if (!status)
        return std::fprintf(stderr, "%s\n", status.message()), 1;
    // The prompt is read, and only then is text added.
    if (at + 1 == text.size())
      text += char(sample(model.logits(), temperature, k, random));
  }
  std::printf("%s\n", text.c_str());
  return 0;
}

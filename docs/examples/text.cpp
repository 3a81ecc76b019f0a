//===- text.cpp - sentences in, feelings out ------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A classifier of text: the program knows the vocabulary, the model what words tell.
//
//   python3 models.py . && weirc text.pbtxt -o text.o
//   c++ -std=c++17 text.cpp text.o libweir_runtime.a -pthread -o text
//   echo "what a clever film" | ./text vocabulary.txt
//
//===----------------------------------------------------------------------===//

#include "text.h"

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

using Vocabulary = std::unordered_map<std::string, int32_t>;

/// Numbers of a line's words; 0 for one that is not known.
static std::vector<int32_t> numbersOf(const std::string &line, const Vocabulary &vocabulary) {
  std::vector<int32_t> numbers;
  std::string word;
  for (char c : line + ' ') {
    if (std::isalpha(static_cast<unsigned char>(c))) {
      word += char(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      auto known = vocabulary.find(word);
      numbers.push_back(known == vocabulary.end() ? 0 : known->second);
      word.clear();
    }
  }
  return numbers;
}

int main(int argc, char **argv) {
  if (argc < 2)
    return std::puts("usage: text VOCABULARY < LINES"), 2;
  Vocabulary vocabulary;
  std::ifstream words(argv[1]);
  for (std::string word; std::getline(words, word);)
    vocabulary.emplace(word, int32_t(vocabulary.size()));
  if (vocabulary.empty())
    return std::fprintf(stderr, "%s has no words\n", argv[1]), 1;

  text::Model model;
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<int32_t> numbers = numbersOf(line, vocabulary);
    // The run reads the numbers where they are.
    weir::Status status = model.bind_words(numbers.data(), {int64_t(numbers.size())});
    if (status)
      status = model.run();
    if (!status)
      return std::fprintf(stderr, "%s\n", status.message()), 1;
    const float positive = model.probabilities()[1];
    std::printf("%s %.2f: %s\n", positive > 0.5f ? "positive" : "negative", positive, line.c_str());
  }
  return 0;
}

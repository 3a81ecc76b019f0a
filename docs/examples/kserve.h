//===- kserve.h - requests and answers of KServe's protocol ------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Version 2, for a model of one input and one output of floats, by rows; as JSON, or bytes.
//
//===----------------------------------------------------------------------===//

#include <cstring>
#include <functional>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace kserve {
using nlohmann::json;
static const char lengthOfJson[] = "Inference-Header-Content-Length";
/// A tensor of the model; `shape` is that of a row.
struct Tensor {
  std::string name;
  std::vector<size_t> shape;
  size_t rowSize() const {
    return std::accumulate(shape.begin(), shape.end(), size_t(1), std::multiplies<>());
  }
  json withRows(int64_t rows) const {
    json all = json::array({rows});
    for (size_t size : shape)
      all.push_back(size);
    return all;
  }
  json about(int64_t rows) const {
    return {{"name", name}, {"datatype", "FP32"}, {"shape", withRows(rows)}};
  }
};

inline std::string about(const char *model, const Tensor &input, const Tensor &output) {
  json all = {{"name", model}, {"platform", "weir"}, {"versions", json::array({"1"})}};
  all["inputs"] = json::array({input.about(-1)});
  all["outputs"] = json::array({output.about(-1)});
  return all.dump();
}

/// Numbers of a list, nested or not.
inline void append(const json &list, std::vector<float> &to) {
  for (const json &item : list)
    item.is_array() ? append(item, to) : to.push_back(item.get<float>());
}

struct Request {
  std::vector<float> numbers;
  size_t rows = 0;
  std::string id;
  bool wantsBytes = false;
};
/// Throws where the request is none, or not for this input and at most so many rows.
inline Request parse(const httplib::Request &in, const Tensor &wanted, size_t mostRows) {
  const std::string length = in.get_header_value(lengthOfJson); // where bytes follow
  const size_t size = length.empty() ? in.body.size() : std::stoul(length);
  const std::string bytes = in.body.substr(size);
  const json request = json::parse(in.body.substr(0, size)), none = json::object();
  const json &input = request.at("inputs").at(0);
  Request made;
  made.numbers.resize(bytes.size() / sizeof(float));
  std::memcpy(made.numbers.data(), bytes.data(), made.numbers.size() * sizeof(float));
  append(input.value("data", json::array()), made.numbers);
  made.rows = made.numbers.size() / wanted.rowSize();
  if (input.at("name") != wanted.name || input.at("datatype") != "FP32" || made.rows < 1 ||
      made.rows > mostRows || input.at("shape") != wanted.withRows(made.rows) ||
      made.numbers.size() != made.rows * wanted.rowSize())
    throw std::invalid_argument("expected \"" + wanted.name + "\", FP32 of at most " +
                                std::to_string(mostRows) + " rows " + json(wanted.shape).dump() +
                                ", and as much data");
  made.id = request.value("id", "");
  made.wantsBytes = request.value("parameters", none).value("binary_data_output", false);
  for (const json &one : request.value("outputs", json::array()))
    made.wantsBytes = one.value("parameters", none).value("binary_data", made.wantsBytes);
  return made;
}

inline void answer(httplib::Response &out, const char *model, const Request &request,
                   const Tensor &given, const std::vector<float> &found) {
  json output = given.about(request.rows);
  const size_t size = found.size() * sizeof(float);
  request.wantsBytes ? output["parameters"]["binary_data_size"] = size : output["data"] = found;
  std::string body =
      json{{"model_name", model}, {"id", request.id}, {"outputs", json::array({output})}}.dump();
  if (request.wantsBytes) {
    out.set_header(lengthOfJson, std::to_string(body.size()));
    body.append(reinterpret_cast<const char *>(found.data()), size);
  }
  out.set_content(body, request.wantsBytes ? "application/octet-stream" : "application/json");
}
} // namespace kserve

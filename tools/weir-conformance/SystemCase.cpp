//===- SystemCase.cpp - a script of session runs --------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/weir-conformance/SystemCase.h"

#include "tools/common/Files.h"

#include "llvm/Support/Base64.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <filesystem>

namespace json = llvm::json;
namespace fs = std::filesystem;
using namespace weir::conformance;
using namespace weir::tools;

namespace {

std::string textOf(const json::Object &object, llvm::StringRef key) {
  return object.getString(key).value_or("").str();
}

std::vector<std::string> textsOf(const json::Object &object, llvm::StringRef key) {
  std::vector<std::string> texts;
  if (const json::Array *array = object.getArray(key))
    for (const json::Value &value : *array)
      texts.push_back(value.getAsString().value_or("").str());
  return texts;
}

/// The types that are stored as integers of the same bits come with their name;
/// strings as base64 in the script itself.
std::string readArrays(const json::Object &arrays, const fs::path &folder, NamedTensors &out) {
  NamedTensors stored;
  std::string error;
  fs::path data = folder / "data.npz";
  if (fs::exists(data) && !readNpzFile(data.string(), stored, error))
    return "data.npz: " + error;
  for (const auto &[key, value] : arrays) {
    const json::Object *facts = value.getAsObject();
    if (!facts)
      return "case.json: array \"" + key.str() + "\"";
    int32_t dtype = dtypeOfName(textOf(*facts, "dtype"));
    if (dtype != WEIR_STRING) {
      HostTensor *tensor = findTensor(stored, key.str());
      if (!tensor)
        return "data.npz has no array \"" + key.str() + "\"";
      if (dtype != WEIR_INVALID && elementSize(dtype) == elementSize(tensor->dtype))
        tensor->dtype = dtype;
      out.emplace_back(key.str(), std::move(*tensor));
      continue;
    }
    HostTensor tensor;
    tensor.dtype = WEIR_STRING;
    if (const json::Array *shape = facts->getArray("shape"))
      for (const json::Value &dim : *shape)
        tensor.dims.push_back(dim.getAsInteger().value_or(0));
    for (const std::string &text : textsOf(*facts, "base64")) {
      std::vector<char> bytes;
      if (llvm::Error bad = llvm::decodeBase64(text, bytes))
        return "case.json: array \"" + key.str() + "\": " + llvm::toString(std::move(bad));
      tensor.strings.emplace_back(bytes.begin(), bytes.end());
    }
    if (tensor.count() != static_cast<int64_t>(tensor.strings.size()))
      return "case.json: array \"" + key.str() + "\" and its shape";
    out.emplace_back(key.str(), std::move(tensor));
  }
  return "";
}

SystemRun readRun(const json::Object &step) {
  SystemRun run;
  const json::Object &facts = *step.getObject("run");
  if (auto session = step.getString("session"))
    run.session = session->str();
  run.restart = step.getBoolean("restart").value_or(false);
  run.signature = textOf(step, "signature");
  if (const json::Object *feeds = facts.getObject("feeds"))
    for (const auto &[edge, array] : *feeds)
      run.feeds.emplace_back(edge.str(), array.getAsString().value_or("").str());
  // JSON objects have no order here: the same feeds are to be one entry.
  std::sort(run.feeds.begin(), run.feeds.end());
  run.fetches = textsOf(facts, "fetches");
  run.targets = textsOf(facts, "targets");
  run.timeoutMs = facts.getInteger("timeout_ms").value_or(0);
  if (const json::Object *expect = step.getObject("expect")) {
    run.expected = textsOf(*expect, "fetches");
    if (const json::Object *error = expect->getObject("error")) {
      run.expectsError = true;
      run.atLoad = textOf(*error, "at") == "load";
      run.code = textOf(*error, "code");
    }
    if (const json::Array *tolerances = expect->getArray("tolerances"))
      for (const json::Value &value : *tolerances)
        if (const json::Object *one = value.getAsObject())
          run.tolerances.emplace_back(one->getNumber("rtol").value_or(0),
                                      one->getNumber("atol").value_or(0));
    if (const json::Object *compare = expect->getObject("compare"))
      for (const auto &[index, how] : *compare)
        run.compare[std::strtoul(index.str().c_str(), nullptr, 10)] =
            how.getAsString().value_or("").str();
  }
  return run;
}

/// Gradients are further runs, which fetch `d(ys)/d(x)` for each x.
void readGradients(const json::Array &gradients, SystemScript &script) {
  for (const json::Value &value : gradients) {
    const json::Object *facts = value.getAsObject();
    if (!facts)
      continue;
    SystemStep step;
    SystemRun &run = step.runs.emplace_back();
    if (const json::Object *feeds = facts->getObject("feeds"))
      for (const auto &[edge, array] : *feeds)
        run.feeds.emplace_back(edge.str(), array.getAsString().value_or("").str());
    std::vector<std::string> ys = textsOf(*facts, "ys"), seeds = textsOf(*facts, "grad_ys");
    std::string all;
    for (size_t i = 0; i < ys.size(); ++i) {
      all += (i ? "," : "") + ys[i];
      if (i < seeds.size())
        run.feeds.emplace_back("d(" + ys[i] + ")", seeds[i]);
    }
    std::sort(run.feeds.begin(), run.feeds.end());
    for (const std::string &x : textsOf(*facts, "xs"))
      run.fetches.push_back("d(" + all + ")/d(" + x + ")");
    run.expected = textsOf(*facts, "expect"); // empty for null: zeros
    script.steps.push_back(std::move(step));
  }
}

void readSignatures(const json::Object &signatures, SystemScript &script) {
  for (const auto &[key, value] : signatures) {
    const json::Object *signature = value.getAsObject();
    if (!signature)
      continue;
    auto &names = script.signatures[key.str()];
    for (llvm::StringRef side : {"inputs", "outputs"})
      if (const json::Object *tensors = signature->getObject(side))
        for (const auto &[name, facts] : *tensors)
          if (const json::Object *tensor = facts.getAsObject())
            names[textOf(*tensor, "tensor")] = name.str();
  }
}

/// A server's devices and those of a process are this process' alike.
void readDevices(const json::Object &config, SystemScript &script) {
  script.softPlacement = config.getBoolean("allow_soft_placement").value_or(false);
  int64_t cpus = config.getInteger("cpu_devices").value_or(1);
  auto add = [&](const std::string &job, int64_t task) {
    for (int64_t i = 0; i < cpus; ++i)
      script.devices.push_back("/job:" + job + "/replica:0/task:" + std::to_string(task) +
                               "/device:CPU:" + std::to_string(i));
  };
  if (const json::Object *cluster = config.getObject("cluster")) {
    for (const auto &[job, tasks] : *cluster)
      for (int64_t task = 0; task < tasks.getAsInteger().value_or(0); ++task)
        add(job.str(), task);
    // JSON objects have no order here.
    std::sort(script.devices.begin(), script.devices.end());
  } else if (config.get("cpu_devices")) {
    add("localhost", 0);
  }
}

} // namespace

std::string weir::conformance::readScript(const std::string &folder, SystemScript &script) {
  std::string text, error;
  if (!readFile(folder + "/case.json", text, error))
    return "case.json: " + error;
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed)
    return "case.json: " + llvm::toString(parsed.takeError());
  const json::Object *root = parsed->getAsObject();
  if (!root)
    return "case.json is no object";
  script.graph = textOf(*root, "graph");
  if (const json::Array *tags = root->getArray("tags_saved_model"))
    for (const json::Value &tag : *tags)
      script.tags.push_back(tag.getAsString().value_or("").str());
  if (const json::Object *tolerance = root->getObject("tolerance")) {
    script.rtol = tolerance->getNumber("rtol").value_or(0);
    script.atol = tolerance->getNumber("atol").value_or(0);
  }
  if (const json::Object *config = root->getObject("config"))
    readDevices(*config, script);
  if (const json::Object *sessions = root->getObject("sessions"))
    for (const auto &[name, facts] : *sessions)
      if (const json::Object *session = facts.getAsObject()) {
        script.sessions[name.str()] = {session->getString("graph").value_or(script.graph).str(),
                                       textOf(*session, "target")};
        script.viaCore |= textOf(*session, "via") == "core";
      }
  if (const json::Object *signatures = root->getObject("signatures"))
    readSignatures(*signatures, script);
  if (const json::Object *arrays = root->getObject("arrays")) {
    std::string problem = readArrays(*arrays, folder, script.arrays);
    if (!problem.empty())
      return problem;
  }
  const json::Array *steps = root->getArray("steps");
  if (!steps)
    return "case.json has no steps";
  for (const json::Value &value : *steps) {
    const json::Object *object = value.getAsObject();
    SystemStep step;
    if (object && object->getObject("run")) {
      step.runs.push_back(readRun(*object));
    } else if (object && object->getArray("concurrent")) {
      step.kind = SystemStep::Kind::Concurrent;
      step.anyOrder = object->getBoolean("any_order").value_or(false);
      for (const json::Value &one : *object->getArray("concurrent")) {
        const json::Object *part = one.getAsObject();
        if (part && part->getObject("run"))
          step.runs.push_back(readRun(*part));
        else
          step.other = "concurrent close";
      }
    } else if (object && object->getString("extend")) {
      step.kind = SystemStep::Kind::Extend;
      step.file = textOf(*object, "extend");
      step.session = object->getString("session").value_or("s0").str();
    } else if (object && object->getObject("reset")) {
      step.kind = SystemStep::Kind::Reset;
      step.target = textOf(*object->getObject("reset"), "target");
      step.containers = textsOf(*object->getObject("reset"), "containers");
    } else {
      step.other = object && !object->empty() ? object->begin()->first.str() : std::string("empty");
    }
    script.steps.push_back(std::move(step));
  }
  if (const json::Array *gradients = root->getArray("gradients"))
    readGradients(*gradients, script);
  return "";
}

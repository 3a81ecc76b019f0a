//===- ExternalFiles.cpp - tensors outside the model file -----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/onnx/ExternalFiles.h"

#include <filesystem>

using namespace weir;
using namespace weir::onnx;
namespace fs = std::filesystem;

ExternalFiles::ExternalFiles(std::string_view modelPath) {
  fs::path parent = fs::path(modelPath).parent_path();
  folder = parent.empty() ? "." : parent.string();
}

namespace {

Problem refuse(const Tensor &tensor, const std::string &reason) {
  return {307, "in tensor \"" + std::string(tensor.name) + "\" found external data at \"" +
                   std::string(tensor.external.location) + "\", " + reason};
}

/// Whether `path`, links followed, lies in `folder` or below.
bool isInside(const fs::path &path, const fs::path &folder) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error)
    return false;
  fs::path base = fs::canonical(folder, error);
  if (error)
    return false;
  auto mismatch = std::mismatch(base.begin(), base.end(), real.begin(), real.end());
  return mismatch.first == base.end();
}

} // namespace

void ExternalFiles::addPaths(std::set<std::string> &paths) const {
  for (const auto &[location, file] : files)
    paths.insert(file->path());
}

MaybeProblem ExternalFiles::find(const Tensor &tensor, Place &place) {
  std::string_view location = tensor.external.location;
  fs::path relative(location);
  if (location.empty() || location.find('\0') != std::string_view::npos)
    return refuse(tensor, "which names no file");
  if (relative.is_absolute())
    return refuse(tensor, "an absolute path; expected a file beside the model");
  for (const fs::path &part : relative)
    if (part == "..")
      return refuse(tensor, "which leaves the model's folder; expected a file in it or below");
  auto known = files.find(location);
  if (known == files.end()) {
    fs::path path = fs::path(folder) / relative;
    std::string error;
    std::unique_ptr<MappedFile> file = MappedFile::open(path.string(), error);
    if (!file)
      return refuse(tensor, "which cannot be read: " + error);
    if (!isInside(path, folder))
      return refuse(tensor,
                    "a link that leaves the model's folder; expected a file in it or below");
    known = files.emplace(std::string(location), std::move(file)).first;
  }
  place.file = known->second.get();
  place.offset = tensor.external.offset;
  std::string_view bytes = place.file->bytes();
  int64_t size;
  if (tensor.type == DataType::String || !rawByteSize(tensor.type, tensor.count, size))
    return refuse(tensor, "of a type that cannot lie there");
  if (tensor.external.length >= 0 && tensor.external.length != size)
    return refuse(tensor, "of " + std::to_string(tensor.external.length) +
                              " bytes; the shape needs " + std::to_string(size));
  auto end = static_cast<int64_t>(bytes.size());
  if (place.offset > end || size > end - place.offset)
    return refuse(tensor, "bytes " + std::to_string(place.offset) + " to " +
                              std::to_string(place.offset) + " + " + std::to_string(size) +
                              "; the file ends at " + std::to_string(end));
  place.bytes = bytes.substr(place.offset, size);
  return std::nullopt;
}

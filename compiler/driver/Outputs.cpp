//===- Outputs.cpp - what a compilation leaves on the disk ----------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Outputs.h"

#include "compiler/driver/Messages.h"
#include "compiler/emit/ApiFunctions.h"
#include "compiler/emit/ElfObject.h"
#include "compiler/emit/Link.h"
#include "compiler/emit/MemoryPicture.h"
#include "compiler/emit/SharedObject.h"
#include "dialects/weir/BlobStore.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace weir;
using namespace weir::driver;

bool driver::isDevice(llvm::StringRef path) {
  return !llvm::sys::fs::is_directory(path) && OutputFile::writesInPlace(path);
}

llvm::Expected<llvm::ArrayRef<char>> driver::bytesOf(BlobAttr blob) {
  return BlobStore::global().bytes(blob);
}

bool Outputs::check(llvm::Error error, llvm::StringRef code) {
  if (!error)
    return true;
  report(sink, code, options.input, llvm::toString(std::move(error)));
  return false;
}

bool Outputs::add(llvm::StringRef path, llvm::StringRef text) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return check(file.takeError());
  if (!check(file->write({text.data(), text.size()})))
    return false;
  files.push_back(std::move(*file));
  return true;
}

/// Nothing lies beside a device.
bool Outputs::addHeader() { return isDevice(output) || add(beside(".h"), compilation.header()); }

/// What debuggers show of a program with --debug-info: a node a line.
bool Outputs::addNodeLines() {
  if (!options.debugInfo || isDevice(output))
    return true;
  std::string text;
  for (const std::string &line : compilation.nodeLines())
    text += line + "\n";
  return add(beside(".nodes"), text);
}

bool Outputs::addReport() {
  if (!options.report)
    return true;
  std::string folder = options.reportDir.empty() ? beside(".report") : options.reportDir;
  // As any other new folder: what the umask leaves.
  if (std::error_code code = llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true,
                                                               llvm::sys::fs::perms::all_all)) {
    report(sink, "W0104", options.input, "cannot make " + folder + ": " + code.message());
    return false;
  }
  std::string picture = memoryPicture(compilation.report());
  llvm::outs() << compilation.report().text();
  return add(folder + "/report.txt", compilation.report().text()) &&
         add(folder + "/report.json", compilation.report().json()) &&
         (picture.empty() || add(folder + "/memory.html", picture));
}

bool Outputs::commit() {
  bool good = true;
  auto tell = [&](llvm::StringRef path) {
    if (good && options.verbose)
      llvm::errs() << "  wrote " << path << "\n";
  };
  for (OutputFile &file : files) {
    good &= check(file.commit());
    tell(file.path());
  }
  for (auto &[from, to] : linked) {
    if (std::error_code code = llvm::sys::fs::rename(from, to)) {
      report(sink, "W0104", options.input, "cannot write " + to + ": " + code.message());
      good = false;
    }
    tell(to);
  }
  return good;
}

bool Outputs::writeText() {
  llvm::StringRef text(compilation.bytes().data(), compilation.bytes().size());
  return add(output, text) && addTuning() && addDepfile() && commit();
}

bool Outputs::addWeights() {
  if (options.weightsFile.empty())
    return true;
  llvm::Expected<OutputFile> file = OutputFile::create(options.weightsFile);
  if (!file)
    return check(file.takeError());
  if (!check(writeWeights(compilation.program(), bytesOf, *file)))
    return false;
  files.push_back(std::move(*file));
  return true;
}

bool Outputs::addTuning() {
  std::string text = compilation.tunedText();
  return text.empty() || add(options.tuneFile, text);
}

/// A path as make reads it.
static std::string escaped(llvm::StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

bool Outputs::addDepfile() {
  if (options.depfile.empty())
    return true;
  std::set<std::string> inputs = compilation.modelFiles();
  bool isFolder = llvm::sys::fs::is_directory(options.input);
  std::error_code ignored;
  for (llvm::sys::fs::recursive_directory_iterator at(options.input, ignored), end;
       isFolder && at != end && !ignored; at.increment(ignored))
    if (at->type() == llvm::sys::fs::file_type::regular_file)
      inputs.insert(at->path());
  if (!isFolder)
    inputs.insert(options.input);
  for (const std::string &file :
       {options.customOperations, options.devicesFile, options.placementFile, options.profileFile})
    if (llvm::sys::fs::is_regular_file(file))
      inputs.insert(file);
  if (!options.tune && !options.tuneFile.empty())
    inputs.insert(options.tuneFile);
  for (const auto &[type, profiles] : options.deviceProfiles)
    inputs.insert(profiles.begin(), profiles.end());
  std::string text = escaped(output) + ":";
  for (const std::string &file : inputs)
    text += " \\\n  " + escaped(file);
  return add(options.depfile, text + "\n");
}

bool Outputs::linkShared(llvm::StringRef object, llvm::StringRef file) {
  SharedObjectOptions shared;
  shared.soname = llvm::sys::path::filename(output).str();
  shared.exports.push_back("weir_plugin");
  for (const ApiFunction &api : apiFunctions(compilation.program(), /*isShared=*/true))
    shared.exports.push_back(api.symbol);
  if (!options.sharedRuntime) {
    llvm::Expected<std::string> library = findRuntimeLibrary(options.runtimeLibrary);
    if (!library)
      return check(library.takeError(), "W0111");
    shared.runtimeLibrary = *library;
    shared.runtimeArchives = options.runtimeArchives;
  }
  return check(linkSharedObject(object, file, shared), "W0111");
}

bool Outputs::link(OutputForm form, OutputFile &object) {
  std::string temporary = object.temporaryPath() + ".linked";
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(temporary); });
  llvm::StringRef stem = llvm::sys::path::stem(output);
  if (form == OutputForm::Archive) {
    if (!check(writeArchive(object.temporaryPath(), (stem + ".o").str(), temporary)))
      return false;
  } else if (!linkShared(object.temporaryPath(), temporary)) {
    return false;
  }
  linked.emplace_back(temporary, output);
  bool good = addHeader() && addNodeLines() && addReport() && commit();
  linked.clear();
  return good;
}

bool Outputs::joinShared() {
  llvm::Expected<OutputFile> bare = OutputFile::create(output + ".o");
  if (!bare)
    return check(bare.takeError());
  std::string temporary = bare->temporaryPath() + ".linked";
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove(temporary); });
  return check(leaveBlobsOut(compilation.program(), compilation.bytes())) &&
         check(bare->write(compilation.bytes())) && linkShared(bare->temporaryPath(), temporary) &&
         check(writeSharedObject(compilation.program(), bytesOf, temporary, *object));
}

void Outputs::writeConstants(OutputForm form) {
  const bool hasConstants = options.weightsFile.empty();
  isJoined = form == OutputForm::SharedObject && hasConstants && linksByLld() &&
             isLinkedWithoutBlobs(compilation.program()) && !OutputFile::writesInPlace(output);
  // Archives, and shared objects of few constants, are made from an object that lies beside them.
  llvm::Expected<OutputFile> file =
      OutputFile::create(form == OutputForm::Object || isJoined ? output : output + ".o");
  if (!file) {
    problem = llvm::toString(file.takeError());
    return;
  }
  object.emplace(std::move(*file));
  auto write = isJoined ? writeSharedBlobs : writeObjectBlobs;
  if (hasConstants)
    if (llvm::Error error = write(compilation.program(), bytesOf, *object))
      problem = llvm::toString(std::move(error));
}

bool Outputs::writeBinary(OutputForm form) {
  if (!object && problem.empty())
    writeConstants(form);
  if (!problem.empty())
    return check(llvm::createStringError(problem));
  if (isJoined) {
    if (!joinShared())
      return false;
  } else {
    llvm::Error error = options.weightsFile.empty()
                            ? writeObject(compilation.program(), compilation.bytes(), *object)
                            : object->write(compilation.bytes());
    if (!check(std::move(error)))
      return false;
  }
  if (!addWeights() || !addTuning() || !addDepfile())
    return false;
  if (form != OutputForm::Object && !isJoined)
    return link(form, *object);
  files.push_back(std::move(*object));
  object.reset();
  return addHeader() && addNodeLines() && addReport() && commit();
}

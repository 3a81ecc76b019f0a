//===- ReferenceName.cpp - what values are compared with, by name ---------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/insight/Reference.h"

using namespace weir::tools;

std::string Reference::parse(std::string_view text, Reference &reference) {
  if (text == "O0" || text == "-O0")
    reference.kind = Kind::Unoptimised;
  else if (text == "f64")
    reference.kind = Kind::F64;
  else if (text == "ort")
    reference.kind = Kind::Ort;
  else if (text == "tf")
    reference.kind = Kind::TensorFlow;
  else if (text.ends_with(".npz")) {
    reference.kind = Kind::File;
    reference.file = text;
  } else
    return "is unknown; possible: O0, f64, ort, tf, FILE.npz";
  return "";
}

std::string Reference::name() const {
  switch (kind) {
  case Kind::Unoptimised:
    return "O0";
  case Kind::F64:
    return "f64";
  case Kind::Ort:
    return "ort";
  case Kind::TensorFlow:
    return "tf";
  case Kind::File:
    return file;
  }
  return "";
}

//===- ModelTypes.cpp - types of values, as the compiler finds them -------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/insight/ModelTypes.h"
#include "compiler/driver/Compilation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace weir;
using namespace weir::insight;

bool insight::findTypes(const driver::Options &asked, const std::vector<std::string> &values,
                        DiagnosticSink &sink, std::vector<TensorInfo> &types) {
  driver::Options options = asked;
  options.stopAfter = "simplify";
  options.plantedFault.clear();
  // Passes are alike for several processors; one is enough to follow them.
  options.cpu = options.cpu.substr(0, options.cpu.find(','));
  options.entries.resize(1);
  EntrySpec &entry = options.entries.front();
  entry.name = "types";
  entry.fetches.clear();
  for (const std::string &value : values)
    entry.fetches.push_back({value, value});
  driver::Compilation compilation(options, sink);
  if (!compilation.run(driver::OutputForm::Mlir))
    return false;
  for (auto function : compilation.ir().getOps<func::FuncOp>()) {
    if (function.isPrivate() || !function->hasAttr("weir.entry"))
      continue;
    for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
      TensorInfo info;
      if (auto name = function.getResultAttrOfType<StringAttr>(i, "weir.name"))
        info.name = name.str();
      auto tensor = dyn_cast<ShapedType>(type);
      info.dtype = dtypeOf(getElementTypeOrSelf(type));
      info.ranked = tensor && tensor.hasRank();
      if (info.ranked)
        for (int64_t size : tensor.getShape())
          info.dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
      types.push_back(std::move(info));
    }
    break;
  }
  if (types.size() == values.size())
    return true;
  sink.report({"W0152",
               options.input,
               "",
               "",
               "found values without a type of a tensor where the part begins or ends; possible: "
               "others",
               {}});
  return false;
}

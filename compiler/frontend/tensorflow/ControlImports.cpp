//===- ControlImports.cpp - calls, branches, loops, assertions ------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/frontend/tensorflow/GraphImporter.h"
#include "compiler/frontend/tensorflow/Sparse.h"

using namespace mlir;
using namespace weir;
using namespace weir::tf;

static constexpr int64_t kInvalidArgument = 3; // WEIR_INVALID_ARGUMENT

static LogicalResult nothing(NodeImport &) { return success(); }

static LogicalResult finish(NodeImport &n, FailureOr<std::vector<Imported>> values) {
  if (failed(values))
    return failure();
  n.made = std::move(*values);
  return success();
}

static LogicalResult call(NodeImport &n) {
  const AttrValue *f = n.attr("f");
  if (!f)
    return n.invalid("found no function");
  std::vector<Imported> args = n.inputs;
  if (n.node.op == "RemoteCall")
    args.erase(args.begin());
  return finish(n, n.g.callFunction(*f, std::move(args), n.node, n.b));
}

/// What a server computes for several callers at once: a program has one, whose rows are the
/// batch. Padding to an allowed size, which TensorFlow then cuts off, changes no rows.
static LogicalResult batchedCall(NodeImport &n) {
  Value first = n.in(0);
  if (!first)
    return failure();
  if (n.rank(first) == 0)
    return n.invalid("expected tensors with rows to batch, got a scalar");
  require(n, n.compare("le", n.sizeOf(first, 0), static_cast<double>(n.i("max_batch_size"))),
          "more rows than max_batch_size");
  return call(n);
}

/// The gradient of a function: the one that the file names, or what
/// differentiating its operations gives. Inputs: the function's arguments, and a
/// gradient for each of its results.
static LogicalResult symbolicGradient(NodeImport &n) {
  const AttrValue *f = n.attr("f");
  if (!f)
    return n.invalid("found no function");
  if (const FunctionDef *gradient = n.g.library.gradientOf(f->s))
    return finish(n, n.g.inlineFunction(*gradient, *f->funcAttrs, n.inputs, n.node, n.b));
  const FunctionDef *function = n.g.library.find(f->s);
  if (!function)
    return n.unsupported("found the gradient of \"" + Twine(std::string(f->s)) +
                         "\", which the library does not have");
  size_t count = function->inputs.size();
  if (n.inputCount() < count)
    return n.invalid("found fewer inputs than the function has arguments");
  SmallVector<Value> arguments = n.tensors(0, count), seeds = n.tensors(count, n.inputCount());
  if (arguments.size() != count || seeds.size() != n.inputCount() - count)
    return failure();
  // One value twice is still two arguments.
  for (Value &argument : arguments)
    if (n.isFloat(argument))
      argument = GateOp::create(n.b, n.loc, argument.getType(), argument, ValueRange());
  // Functions that it calls are differentiated, too.
  ModuleOp keeper = std::exchange(n.g.module, {});
  bool before = std::exchange(n.g.isDifferentiated, true);
  auto values =
      n.g.inlineFunction(*function, *f->funcAttrs,
                         std::vector<Imported>(arguments.begin(), arguments.end()), n.node, n.b);
  n.g.module = keeper;
  n.g.isDifferentiated = before;
  if (failed(values))
    return failure();
  SmallVector<Value> ys;
  for (const Imported &value : *values)
    ys.push_back(value.kind == Imported::Kind::Tensor ? value.value : Value());
  if (ys.size() != seeds.size() || llvm::is_contained(ys, Value()))
    return n.invalid("found " + Twine(seeds.size()) + " gradients for " + Twine(ys.size()) +
                     " results");
  auto gradients =
      buildGradients(ys, seeds, std::vector<Imported>(arguments.begin(), arguments.end()), n);
  return failed(gradients) ? failure() : n.results(*gradients);
}

static LogicalResult branch(NodeImport &n) {
  const AttrValue *thenBranch = n.attr("then_branch"), *elseBranch = n.attr("else_branch");
  Value condition = n.in(0);
  if (!condition || !thenBranch || !elseBranch)
    return failure();
  std::vector<Imported> args(n.inputs.begin() + 1, n.inputs.end());
  auto part = [&](const AttrValue *function) {
    return [&n, &args, function](OpBuilder &b) {
      return n.g.inlineFunction(*function, args, n.node, b);
    };
  };
  return finish(n, n.g.buildIf(condition, part(thenBranch), part(elseBranch), n.node, n.b, n.loc));
}

/// A chain of branches; an index outside takes the last one.
static LogicalResult caseOf(NodeImport &n) {
  const AttrValue *branches = n.attr("branches");
  Value index = n.in(0);
  if (!index || !branches || !branches->list || branches->list->funcs.empty())
    return n.invalid("found no branches");
  std::vector<Imported> args(n.inputs.begin() + 1, n.inputs.end());
  const std::vector<AttrValue> &functions = branches->list->funcs;
  if (functions.size() > 64)
    return n.unsupported("expected at most 64 branches, got " + Twine(functions.size()));
  std::function<FailureOr<std::vector<Imported>>(size_t, OpBuilder &)> from =
      [&](size_t i, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
    if (i + 1 == functions.size())
      return n.g.inlineFunction(functions[i], args, n.node, b);
    TensorBuilder t(b, n.loc);
    Value here = t.compare("eq", index, static_cast<double>(i));
    return n.g.buildIf(
        here,
        [&](OpBuilder &inner) { return n.g.inlineFunction(functions[i], args, n.node, inner); },
        [&](OpBuilder &inner) { return from(i + 1, inner); }, n.node, b, n.loc);
  };
  return finish(n, from(0, n.b));
}

static LogicalResult loop(NodeImport &n) {
  const AttrValue *condition = n.attr("cond"), *body = n.attr("body");
  if (!condition || !body)
    return n.invalid("found no functions");
  auto part = [&](const AttrValue *function) {
    return [&n, function](std::vector<Imported> variables, OpBuilder &b) {
      return n.g.inlineFunction(*function, std::move(variables), n.node, b);
    };
  };
  return finish(n, n.g.buildWhile(n.inputs, part(condition), part(body), n.node, n.b, n.loc));
}

/// for i in range(start, limit, delta): values = body(i, *values)
static LogicalResult forLoop(NodeImport &n) {
  const AttrValue *body = n.attr("body");
  Value start = n.in(0), limit = n.in(1), delta = n.in(2);
  if (!start || !limit || !delta || !body)
    return failure();
  std::vector<Imported> inits = {Imported(start)};
  inits.insert(inits.end(), n.inputs.begin() + 3, n.inputs.end());
  auto values = n.g.buildWhile(
      inits,
      [&](std::vector<Imported> variables, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        Value i = variables[0].value;
        Value up = t.op<AndOp>(t.compare("gt", delta, 0), t.compare("lt", i, limit));
        Value down = t.op<AndOp>(t.compare("lt", delta, 0), t.compare("gt", i, limit));
        return std::vector<Imported>{Imported(t.op<OrOp>(up, down))};
      },
      [&](std::vector<Imported> variables, OpBuilder &b) -> FailureOr<std::vector<Imported>> {
        TensorBuilder t(b, n.loc);
        Value next = t.add(variables[0].value, delta);
        auto results = n.g.inlineFunction(*body, std::move(variables), n.node, b);
        if (failed(results))
          return failure();
        results->insert(results->begin(), Imported(next));
        return results;
      },
      n.node, n.b, n.loc);
  if (failed(values))
    return failure();
  values->erase(values->begin());
  return finish(n, std::move(values));
}

/// The strings of a constant input, joined; empty if it is none.
static std::string constantText(NodeImport &n, size_t i) {
  std::string text;
  for (const std::string &value : n.constantStrings(i).value_or(std::vector<std::string>()))
    text += (text.empty() ? "" : " ") + value;
  return text;
}

static LogicalResult assertion(NodeImport &n) {
  Value condition = n.in(0);
  if (!condition)
    return failure();
  // What the data say at run time is not printed, what they say now is.
  std::string message = "assertion failed:";
  for (size_t i = 1; i < n.inputCount(); ++i)
    if (std::string text = constantText(n, i); !text.empty())
      message += " [" + text + "]";
  AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), condition,
                   n.b.getStringAttr(message), n.number(kInvalidArgument), ValueRange());
  return success();
}

static LogicalResult checkNumerics(NodeImport &n) {
  Value x = n.in(0);
  if (!x)
    return failure();
  std::string message(n.s("message"));
  auto check = [&](Value good, const char *what) {
    if (!good)
      return;
    Value all = n.reduce(good, "all", axesFrom(0, n.rank(x)), false);
    AssertOp::create(n.b, n.loc, TokenType::get(n.b.getContext()), all,
                     n.b.getStringAttr(message + " : Tensor had " + what),
                     n.number(kInvalidArgument), ValueRange());
  };
  check(n.op<NotOp>(n.op<IsNanOp>(x)), "NaN values");
  check(n.op<NotOp>(n.op<IsInfOp>(x)), "Inf values");
  return n.result(x);
}

ArrayRef<OpImport> weir::tf::controlImports() {
  static const OpImport rows[] = {
      {"NoOp", nothing},
      {"ControlTrigger", nothing},
      {"PartitionedCall", call},
      {"StatefulPartitionedCall", call},
      {"RemoteCall", call},
      {"BatchFunction", batchedCall},
      {"SymbolicGradient", symbolicGradient},
      {"If", branch},
      {"StatelessIf", branch},
      {"Case", caseOf},
      {"StatelessCase", caseOf},
      {"While", loop},
      {"StatelessWhile", loop},
      {"For", forLoop},
      {"Timestamp",
       [](NodeImport &n) {
         return n.result(n.kernelCall("weir_kernel_timestamp",
                                      RankedTensorType::get({}, n.b.getF64Type()), {}, {},
                                      /*isPure=*/false)
                             ->getResult(0));
       }},
      {"ToBool", [](NodeImport &n) { return n.result(truth(n, n.in(0))); }},
      {"Assert", assertion},
      {"CheckNumerics", checkNumerics},
      {"CheckNumericsV2", checkNumerics},
  };
  return rows;
}

//===- GraphBuilder.h - a graph while it is generated -----------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_TEST_FUZZ_GRAPHBUILDER_H
#define WEIR_TEST_FUZZ_GRAPHBUILDER_H

#include "test/fuzz/GraphGenerator.h"
#include "test/unit/onnx/ProtoWriter.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weir::fuzz {

using onnx::test::Proto;
using Dims = std::vector<int64_t>;

/// A value of the graph, and what is known of its elements.
struct Value {
  std::string name;
  int32_t type = WEIR_INVALID; ///< weir_dtype, which are ONNX's numbers
  Dims dims;                   ///< as they are in the run
  double bound = 0;            ///< no element is larger
  double error = 0;            ///< what two compilations may differ by; 0: they do not

  size_t rank() const { return dims.size(); }
  int64_t count() const { return tools::productOf(dims); }
  /// Only such values may be compared, rounded or used as numbers: what is a
  /// little different may come out as something else.
  bool isExact() const { return error == 0; }
  bool isFloat() const { return tools::isFloat(type); }
  bool isInteger() const;
  bool isNumber() const { return isFloat() || isInteger(); }
  double epsilon() const { return tools::epsilonOf(type); }
};

/// A node as it was asked for.
struct RecordedNode {
  std::string operation;
  std::vector<std::string> inputs, outputs;
  std::vector<Proto> attributes;
};

/// What a constant stands for, which decides what becomes of it in other forms.
enum class Role {
  Data,     ///< numbers that are computed with
  Run,      ///< a size, bound or index that a run may give
  Parameter ///< what the file has to say
};

class GraphBuilder {
public:
  GraphBuilder(std::string_view choices, const GraphForm &form) : choices(choices), form(form) {
    scopes.emplace_back();
  }

  // Choices.
  bool exhausted() const { return choices.empty(); }
  /// [0, bound); 0 once there are no choices left.
  uint32_t below(uint32_t bound);
  bool oneIn(uint32_t n) { return below(n) == 0; }
  /// How many elements a value may have. Most graphs are so small that they run
  /// in no time; the others are shared among threads.
  int64_t most() const { return largest; }
  void setMost(int64_t value) { largest = value; }
  template <typename T> T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<uint32_t>(list.size()))];
  }

  // Values.
  /// A value that fits, later ones more often; nothing where there is none.
  std::optional<Value> find(const std::function<bool(const Value &)> &fits);
  /// Numbers in [low, high], as a constant or a feed.
  Value data(int32_t type, const Dims &dims, double low, double high);
  Value feed(int32_t type, const Dims &dims, double low, double high);
  Value constant(const tools::HostTensor &tensor, Role role);
  /// A vector of i64, or a scalar.
  Value integers(const std::vector<int64_t> &values, Role role);
  Value integer(int64_t value, Role role);
  /// One number of a type.
  Value number(int32_t type, double value);

  // Nodes.
  /// Appends a node; its outputs are named and returned.
  std::vector<std::string> node(const std::string &operation,
                                const std::vector<std::string> &inputs,
                                const std::vector<Proto> &attributes = {}, size_t outputs = 1);
  /// The usual case: one output with its type and magnitudes. Not yet in the
  /// pool.
  Value make(const std::string &operation, const std::vector<Value> &inputs, int32_t type,
             Dims dims, double bound, double error, const std::vector<Proto> &attributes = {});
  /// Makes a value available to later steps. A float that has become too large
  /// is squashed before; one whose error says nothing any more is left out.
  /// Returns true, as a step that has done something.
  bool add(Value value);

  static Proto attribute(const std::string &name, int64_t value);
  static Proto attribute(const std::string &name, const Dims &values);
  static Proto attribute(const std::string &name, float value);
  static Proto attribute(const std::string &name, const char *value);
  static Proto attribute(const std::string &name, const Proto &graph);

  // Subgraphs.
  void beginGraph(const std::vector<Value> &parameters);
  /// The graph begun last, with these outputs; what it made is forgotten.
  Proto endGraph(const std::vector<Value> &parameters, const std::vector<Value> &outputs);
  unsigned depth() const { return static_cast<unsigned>(scopes.size()) - 1; }
  /// Whether a value is of the innermost graph.
  bool isInner(const Value &value) const;

  GeneratedGraph finish(unsigned steps);

private:
  struct Scope {
    std::string nodes;
    size_t firstValue = 0;
  };
  std::string fresh(const char *prefix);
  GeneratedGraph finishGraphDef(GeneratedGraph graph) const;
  /// ValueInfoProto of what is fed.
  Proto feedType(const std::string &name, const tools::HostTensor &tensor, bool openSizes) const;

  std::string_view choices;
  GraphForm form;
  std::vector<Scope> scopes;
  std::vector<Value> pool;
  std::vector<Value> made; ///< of the outermost graph
  std::string initializers, inputs;
  tools::NamedTensors feeds, constants;
  // Of the form as a GraphDef.
  std::vector<RecordedNode> recorded; ///< of the outermost graph
  std::map<std::string, Value> values;
  unsigned count = 0;
  int64_t largest = 4096;
};

/// A random step: appends what it makes, or returns false where nothing fits.
using Step = bool (*)(GraphBuilder &);
bool elementwiseStep(GraphBuilder &g);
bool integerStep(GraphBuilder &g);
bool logicStep(GraphBuilder &g);
bool castStep(GraphBuilder &g);
bool movementStep(GraphBuilder &g);
bool indexingStep(GraphBuilder &g);
bool shapeStep(GraphBuilder &g);
bool reductionStep(GraphBuilder &g);
bool normalizationStep(GraphBuilder &g);
bool productStep(GraphBuilder &g);
bool windowStep(GraphBuilder &g);
bool branchStep(GraphBuilder &g);
bool loopStep(GraphBuilder &g);
bool scanStep(GraphBuilder &g);
bool emptyStep(GraphBuilder &g);
bool sequenceStep(GraphBuilder &g);
bool stringStep(GraphBuilder &g);
/// One of them.
bool anyStep(GraphBuilder &g);

/// The shape that two broadcast to, or nothing.
std::optional<Dims> broadcast(const Dims &a, const Dims &b);
/// An operand for `value` in an elementwise operation: a value that there is, or
/// new numbers in [low, high] whose shape goes with it.
Value partner(GraphBuilder &g, const Value &value, double low, double high);

} // namespace weir::fuzz

#endif // WEIR_TEST_FUZZ_GRAPHBUILDER_H

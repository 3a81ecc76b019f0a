//===- Graphs.cpp - graphs of the recording driver ---------------*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/cuda/recorder/Recorder.h"

#include <cstring>

using namespace recorder;

extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER("cuStreamBeginCapture");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  stream->capturing = new GraphTag();
  return 0;
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  NEEDS_CONTEXT()
  *graph = nullptr;
  if (!stream->capturing)
    return 901;
  if (r.fails("cuStreamEndCapture")) {
    delete stream->capturing;
    stream->capturing = nullptr;
    return 901; // CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
  }
  *graph = stream->capturing;
  stream->capturing = nullptr;
  ++r.graphs;
  ++r.captured;
  return 0;
}
Result cuGraphDestroy(Graph graph) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  --r.graphs;
  delete graph;
  return 0;
}
Result cuGraphInstantiateWithFlags(GraphExec *instance, Graph graph, unsigned long long) {
  ENTER("cuGraphInstantiate");
  NEEDS_CONTEXT()
  *instance = new GraphExecTag{graph->nodes};
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    (*instance)->nodes[i].id = ++r.nodes;
    if (r.tracer)
      r.tracer->nodeCloned((*instance)->nodes[i], graph->nodes[i]);
  }
  ++r.instances;
  return 0;
}
Result cuGraphExecUpdate_v2(GraphExec instance, Graph graph, GraphUpdate *) {
  ENTER("cuGraphExecUpdate");
  NEEDS_CONTEXT()
  bool fits = instance->nodes.size() == graph->nodes.size();
  for (size_t i = 0; fits && i < graph->nodes.size(); ++i)
    fits = !std::strcmp(instance->nodes[i].what, graph->nodes[i].what) &&
           instance->nodes[i].code == graph->nodes[i].code;
  if (!fits)
    return 910;                                    // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  for (size_t i = 0; i < graph->nodes.size(); ++i) // which stay the nodes that they are
    instance->nodes[i].work = graph->nodes[i].work;
  ++r.updated;
  return 0;
}
Result cuGraphLaunch(GraphExec instance, Stream stream) {
  ENTER("cuGraphLaunch");
  NEEDS_CONTEXT()
  NOT_CAPTURED(stream)
  ++r.graphLaunches;
  r.putNodes(stream, instance->nodes);
  return 0;
}
Result cuGraphExecDestroy(GraphExec instance) {
  Recorder &r = recorder::recorder();
  std::unique_lock<std::mutex> lock(r.mutex);
  --r.instances;
  delete instance;
  return 0;
}

} // extern "C"

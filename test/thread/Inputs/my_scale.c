/* The custom operation of the thread test: multiplies by an integer attribute. */
#include "weir/weir.h"

int32_t my_scale(struct weir_context *ctx, const weir_tensor *in, int32_t in_count,
                 weir_tensor *out, int32_t out_count, const int64_t *attributes) {
  (void)in_count;
  (void)out_count;
  for (int32_t i = 0; i < in[0].rank; ++i)
    out[0].dims[i] = in[0].dims[i];
  out[0].bytes = in[0].bytes;
  out[0].data = weir_custom_alloc(ctx, in[0].bytes);
  if (!out[0].data)
    return WEIR_RESOURCE_EXHAUSTED;
  for (int64_t i = 0; i < in[0].bytes / 4; ++i)
    ((float *)out[0].data)[i] = ((const float *)in[0].data)[i] * (float)attributes[0];
  return 0;
}

import { type Attributes, meter } from '@customer-platform/service-kit';
import type { AiProvider, AiResult } from './ask-ai.ts';

// Names, attributes and buckets follow the OpenTelemetry conventions for generative AI. The model is omitted, because accounts choose the
// names of their models and each name would create a time series.
const tokenUsage = meter.createHistogram('gen_ai.client.token.usage', {
  unit: '{token}',
  description: 'Tokens of calls of AI providers, as billed, by type.',
  advice: { explicitBucketBoundaries: [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576] },
});

const operationDuration = meter.createHistogram('gen_ai.client.operation.duration', {
  unit: 's',
  description: 'Duration of calls of AI providers, by outcome.',
  advice: { explicitBucketBoundaries: [0.01, 0.04, 0.16, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] },
});

/** Waits for a call and records its duration and, if the provider answered, its tokens. */
export async function measureCall(provider: AiProvider, call: Promise<AiResult>): Promise<AiResult> {
  const attributes: Attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': provider.name };
  const beganMs = performance.now();
  const result = await call;
  const outcome = result.outcome === 'answered' ? 'completed' : result.outcome;
  operationDuration.record((performance.now() - beganMs) / 1_000, { ...attributes, outcome });
  if (outcome !== 'completed') return result;
  tokenUsage.record(result.promptTokens, { ...attributes, 'gen_ai.token.type': 'input' });
  tokenUsage.record(result.completionTokens, { ...attributes, 'gen_ai.token.type': 'output' });
  return result;
}

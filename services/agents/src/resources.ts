import {
  allowedRangesSetting,
  createNameResolver,
  createPoster,
  type Poster,
  parsed,
  parseSecretKeys,
  type SecretKeys,
  type TargetGuard,
} from '@customer-platform/outbound';
import { baseConfig, type Foundation, implementer } from '@customer-platform/service-kit';
import { z } from 'zod';
import { Planner } from './planning/planner.ts';
import { StepRunner } from './plans/step-runner.ts';
import { SourceReader } from './reading/source-reader.ts';

/** The settings of this service. */
export const agentsConfig = baseConfig.extend({
  AGENTS_SECRET_KEY: parsed(parseSecretKeys).meta({
    description: 'Encrypts the keys of AI providers: base64 of 32 bytes; to rotate, 2:<new>,1:<old>.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  AGENTS_AI_TIMEOUT_MS: z.coerce.number().int().min(100).max(300_000).default(60_000).meta({
    description: 'One deadline over a call of an AI provider.',
  }),
  AGENTS_MAX_PLANNING: z.coerce.number().int().min(1).max(200).default(64).meta({
    description: 'Plans that are made at once at most in one process.',
  }),
});
export type AgentsConfig = z.output<typeof agentsConfig>;

/** What this service's operations, consumers and jobs share. */
export interface AgentsResources {
  secretKeys: SecretKeys;
  /** Keeps what customers name to addresses that are public or allowed. */
  guard: TargetGuard;
  planner: Planner;
  stepRunner: StepRunner;
  sourceReader: SourceReader;
}

/** The `implement` of this service. */
export const implement = implementer<AgentsResources>();

/** Starts what makes plans, runs their steps and reads sources; `stop` ends it after what is under way. */
export async function makeResources(foundation: Foundation<AgentsConfig>) {
  const { config } = foundation;
  const secretKeys = config.AGENTS_SECRET_KEY;
  const guard: TargetGuard = {
    allowedRanges: config.WEBHOOKS_ALLOWED_RANGES,
    resolve: createNameResolver(5_000),
  };
  const poster: Poster = createPoster({
    ...guard,
    timeoutMs: config.AGENTS_AI_TIMEOUT_MS,
    maxSocketsPerPool: config.AGENTS_MAX_PLANNING,
    maxSockets: config.AGENTS_MAX_PLANNING * 4,
    keptBytes: 64 * 1024,
    neverResends: true,
  });
  const planner = new Planner({ ...foundation, secretKeys, poster }, () => stepRunner.wake());
  const stepRunner = new StepRunner(foundation, planner);
  const sourceReader = new SourceReader({ ...foundation, guard });
  return {
    secretKeys,
    guard,
    planner,
    stepRunner,
    sourceReader,
    async stop() {
      await Promise.all([planner.stop(), stepRunner.stop(), sourceReader.stop()]);
      await poster.close();
    },
  };
}

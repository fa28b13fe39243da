import { createNameResolver, createPoster, type Poster, type TargetGuard } from '@customer-platform/outbound';
import type { Foundation } from '@customer-platform/service-kit';
import { Planner } from './planning/planner.ts';
import { StepRunner } from './plans/step-runner.ts';
import { SourceReader } from './reading/source-reader.ts';
import type { AgentsConfig } from './resources.ts';

/** Starts the planner, the step runner and the source reader; `stop` waits for the work under way. */
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

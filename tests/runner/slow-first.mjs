import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Slowest test files, the slowest first. */
const slowest = [
  'tests/sandbox-clock.long.test.ts',
  'packages/console/src/pages.long.test.ts',
  'tests/nats-cluster.long.test.ts',
  'tests/kill-customer-data.long.test.ts',
  'tests/kill-clock.long.test.ts',
  'tests/restore.long.test.ts',
  'tests/guides.long.test.ts',
  'packages/client/src/package.long.test.ts',
  'packages/outbound/src/unused-pools.long.test.ts',
  'tests/kill.long.test.ts',
  'tests/dashboards.long.test.ts',
  'services/agents/src/planning/planner-races.long.test.ts',
  'tests/bad-input.long.test.ts',
  'services/agents/src/reading/website.test.ts',
  'tests/conformance.test.ts',
  'services/webhooks/src/sending/hanging-endpoints.long.test.ts',
  'services/agents/src/reading/source-reader.test.ts',
  'services/agents/src/reading/fair-reading.long.test.ts',
  'packages/client/src/cli/cli.test.ts',
  'services/calendar/src/free-times/free-starts.property.test.ts',
  'services/webhooks/src/streaming/stream-events.test.ts',
];

/**
 * Starts the slowest test files first, so that the run does not end with one worker on a long file while other workers are idle. The
 * rest follows Jest's order: failed files first, then by last duration, or by size if unknown, as in a new clone.
 */
export default class SlowFirst extends Sequencer {
  async sort(tests) {
    const rank = ({ path, context }) => {
      const index = slowest.indexOf(relative(context.config.rootDir, path));
      return index === -1 ? slowest.length : index;
    };
    const usual = await super.sort(tests);
    return usual.toSorted((a, b) => rank(a) - rank(b));
  }
}

import { relative } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** Test files that take longest, the slowest first. */
const slowest = [
  'tests/dashboards.test.ts',
  'tests/kill-customer-data.test.ts',
  'tests/kill-clock.test.ts',
  'packages/console/src/pages.test.ts',
  'tests/restore.test.ts',
  'tests/sandbox-clock.test.ts',
  'tests/kill.test.ts',
  'services/agents/src/planning/planner-races.test.ts',
  'tests/outages.test.ts',
  'tests/kill-messages.test.ts',
  'gateway/src/limits/redis-cluster.test.ts',
  'tests/bad-input.test.ts',
  'services/webhooks/src/streaming/stream-events.test.ts',
  'tests/nats-cluster.test.ts',
  'services/agents/src/plans/step-retries.test.ts',
  'services/cdp/src/duplicates/duplicates.test.ts',
  'services/agents/src/reading/website.test.ts',
  'tests/kill-agents.test.ts',
  'services/cdp/src/duplicates/undo-duplicate.test.ts',
  'tests/drill.test.ts',
  'gateway/src/control-plane/services/operators.test.ts',
];

/**
 * Starts the slowest test files first, so that the run does not end with one worker on a long file while the others have none left. The
 * rest goes by Jest's own order: failed ones first, then by their last durations, or by size where those are not known, as in a new clone.
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

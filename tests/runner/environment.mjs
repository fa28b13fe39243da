import { jestExpect } from '@jest/expect';
import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Environment of test files that run in the process itself, instead of a context of their own: fake timers replace those of the process, and
 * `expect` is the process's, which knows its classes. It has no snapshots.
 */
export default class ProcessEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
  }

  /** Fails a test that made fewer assertions than it said. */
  handleTestEvent({ name, test }) {
    if (name !== 'test_done') return;
    test.errors.push(...jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error));
  }
}

import { jestExpect } from '@jest/expect';
import { ModernFakeTimers } from '@jest/fake-timers';
import { TestEnvironment } from 'jest-environment-node';

/**
 * Environment of test files that run in the process itself instead of a separate context. Fake timers replace the process's timers, and
 * `expect` is the process's own, which knows its classes. Snapshots are not supported.
 */
export default class ProcessEnvironment extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    this.fakeTimersModern = new ModernFakeTimers({ config: config.projectConfig, global: globalThis });
  }

  /** Fails a test with fewer assertions than it announced. */
  handleTestEvent({ name, test }) {
    if (name !== 'test_done') return;
    test.errors.push(...jestExpect.extractExpectedAssertionsErrors().map(({ error }) => error));
  }
}

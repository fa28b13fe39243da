import usual from './jest.config.mjs';

/** Slow or heavy tests: kills, outages, failover, clusters, restores, drills, other runtimes, every page of the console. */
export default {
  ...usual,
  testMatch: ['**/*.long.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // One page of the reference takes 30 s on a machine that also runs other tests.
  testTimeout: 300_000,
};

import usual from './jest.config.mjs';

/** Tests that take long or need much of the machine: kills, outages, failover, clusters, restores, drills, other runtimes, every page of the console. */
export default {
  ...usual,
  testMatch: ['**/*.long.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  // A page of the reference takes half a minute on a machine that runs other tests.
  testTimeout: 300_000,
};

/**
 * Node strips the types and loads the modules, once for all files of a worker (tests/runner/run-file.mjs). Each test file starts what it
 * needs against the servers that `globalSetup` starts once.
 */
export default {
  testRunner: '<rootDir>/tests/runner/run-file.mjs',
  testEnvironment: '<rootDir>/tests/runner/environment.mjs',
  roots: [
    '<rootDir>/packages',
    '<rootDir>/services',
    '<rootDir>/gateway',
    '<rootDir>/deploy',
    '<rootDir>/scripts',
    '<rootDir>/bench',
    '<rootDir>/tests',
    '<rootDir>/examples',
  ],
  testMatch: ['**/*.test.ts'],
  // Those of jest.long.config.mjs and jest.alone.config.mjs.
  testPathIgnorePatterns: ['/node_modules/', '\\.(long|alone)\\.test\\.ts$'],
  // The built package has the name of its source.
  modulePathIgnorePatterns: ['<rootDir>/packages/client/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  globalSetup: '<rootDir>/packages/testkit/src/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/global-teardown.ts',
  testSequencer: '<rootDir>/tests/runner/slow-first.mjs',
  // Twice the cores that it is measured on: many files wait most of their time.
  maxWorkers: 4,
  workerIdleMemoryLimit: '1GB',
  testTimeout: 90_000,
};

/**
 * Node strips the types and loads the modules once per worker (tests/runner/run-file.mjs). `globalSetup` starts the servers once, and each
 * test file starts its own processes against them.
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
  // jest.long.config.mjs and jest.alone.config.mjs run these.
  testPathIgnorePatterns: ['/node_modules/', '\\.(long|alone)\\.test\\.ts$'],
  // The built package has the same name as its source.
  modulePathIgnorePatterns: ['<rootDir>/packages/client/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  globalSetup: '<rootDir>/packages/testkit/src/global-setup.ts',
  globalTeardown: '<rootDir>/packages/testkit/src/global-teardown.ts',
  testSequencer: '<rootDir>/tests/runner/slow-first.mjs',
  // Twice the cores of the reference machine, because many files mostly wait.
  maxWorkers: 4,
  workerIdleMemoryLimit: '1GB',
  testTimeout: 90_000,
};

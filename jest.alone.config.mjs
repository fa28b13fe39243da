import usual from './jest.config.mjs';

/** Tests that compare what one caller waits with what another sends: files beside them would change the figure, so they run one after another. */
export default {
  ...usual,
  testMatch: ['**/*.alone.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};

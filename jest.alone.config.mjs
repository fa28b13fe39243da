import usual from './jest.config.mjs';

/** Tests that measure how one caller's load delays another caller. Other test files would distort the figure, so these run one after another. */
export default {
  ...usual,
  testMatch: ['**/*.alone.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
  maxWorkers: 1,
};

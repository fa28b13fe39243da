import { expect, it } from '@jest/globals';
import { skeletonFaultsOf } from './skeleton.ts';
import { sourceOf } from './source.ts';

const importing = (file: string, specifier: string) => sourceOf(file, `import '${specifier}';\n`);

it.each([
  ['services/calendar/src/resources.ts', './staff/staff.ts'],
  ['services/calendar/src/staff/staff.ts', '../start.ts'],
  ['services/calendar/src/implement.ts', './main.ts'],
])('refuses %s with an import of %s: all services have one skeleton', (file, specifier) => {
  expect(skeletonFaultsOf(importing(file, specifier))).toHaveLength(1);
});

it.each([
  ['services/calendar/src/main.ts', './start.ts'],
  ['services/calendar/src/start.ts', './implement.ts'],
  ['services/calendar/src/staff/staff.ts', '../implement.ts'],
  ['gateway/src/main.ts', './settings.ts'],
])('takes %s with an import of %s', (file, specifier) => {
  expect(skeletonFaultsOf(importing(file, specifier))).toEqual([]);
});

import { expect, it } from '@jest/globals';
import { faultsOf } from './check-house.ts';

const line = (specifier: string) => `import { x } from '${specifier}';\n`;

it.each([
  ['services/calendar/src/a/a.ts', '@customer-platform/cdp'],
  ['services/calendar/src/a/a.ts', '@customer-platform/testkit'],
  ['services/calendar/src/a/a.ts', '../../../cdp/src/start.ts'],
  ['services/calendar/src/a/a.test.ts', '@customer-platform/webhooks'],
  ['packages/service-kit/src/a.ts', '@customer-platform/contracts/calendar'],
  ['packages/contracts/src/a.ts', '@customer-platform/service-kit'],
  ['packages/client/src/a.ts', '@customer-platform/service-kit'],
  ['gateway/src/a.ts', '@customer-platform/calendar'],
  ['services/calendar/src/a/a.ts', 'ioredis'],
])('%s may not import %s', (file, specifier) => {
  expect(faultsOf(file, line(specifier)).faults).toHaveLength(1);
});

it.each([
  ['services/calendar/src/a/a.ts', '@customer-platform/contracts/cdp'],
  ['services/calendar/src/a/a.ts', '@customer-platform/service-kit'],
  ['services/calendar/src/a/a.test.ts', '@customer-platform/testkit'],
  ['services/calendar/src/free/a.ts', '../b.ts'],
  ['packages/service-kit/src/a.ts', '@customer-platform/contracts/core'],
  ['gateway/src/a.ts', 'ioredis'],
  ['services/calendar/src/a/a.test.ts', 'fast-check'],
])('%s may import %s', (file, specifier) => {
  expect(faultsOf(file, line(specifier))).toEqual({ faults: [], imports: 1 });
});

it('sees types, re-exports, bare and dynamic imports', () => {
  const forms = [
    "import type { A } from '@customer-platform/cdp';",
    "export * from '@customer-platform/cdp';",
    "import '@customer-platform/cdp';",
    "const a = await import('@customer-platform/cdp');",
    "import {\n  a,\n  b,\n} from '@customer-platform/cdp';",
  ];
  for (const form of forms) expect(faultsOf('services/calendar/src/a/a.ts', `${form}\n`).faults).toHaveLength(1);
});

it('refuses a file that grew too long', () => {
  expect(faultsOf('services/calendar/src/a/a.ts', 'x\n'.repeat(300)).faults).toEqual([]);
  expect(faultsOf('services/calendar/src/a/a.ts', 'x\n'.repeat(301)).faults).toHaveLength(1);
});

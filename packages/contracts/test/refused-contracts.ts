import { z } from 'zod';
import { eventsOf } from '../src/core/event.ts';
import { type EventsIn, type OperationsIn, operationsOf } from '../src/core/operation.ts';

// Contracts that must not compile. `npm run types` fails for each that does: its @ts-expect-error is then unused.

export * from '../src/everything.ts';
// @ts-expect-error two contracts export one name
export * from './taken-name.ts';

const operation = operationsOf('crm', 'crm');
const spec = {
  method: 'GET',
  path: '/v1/crm/doors',
  scope: null,
  summary: 'List doors',
  status: 200,
  errors: [],
} as const;
const contract = {
  listDoors: operation('listDoors', spec),
  doorOpened: eventsOf('crm').internalEvent('door.opened', z.object({})),
};

export const complete = { ...contract } satisfies OperationsIn<typeof contract> & EventsIn<typeof contract>;

// @ts-expect-error an operation is not listed
export const withoutOperation = {} satisfies OperationsIn<typeof contract>;

// @ts-expect-error an event is not listed
export const withoutEvent = {} satisfies EventsIn<typeof contract>;

const misnamed = { showDoors: contract.listDoors };
// @ts-expect-error an operation is exported under another name than its key
export const withMisnamed = { ...misnamed } satisfies OperationsIn<typeof misnamed>;

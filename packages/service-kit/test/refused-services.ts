import { internalRequest, operationsOf } from '@customer-platform/contracts/core';
import { z } from 'zod';
import {
  baseConfig,
  handleRequest,
  type Implements,
  implementer,
  type RepliesTo,
  type ServiceDefinition,
} from '../src/index.ts';

// Services that must not compile. If one compiles, its @ts-expect-error is unused, and `npm run types` fails.

const spec = { path: '/v1/crm/doors', scope: null, summary: 'A door', status: 204, errors: [] } as const;
const operation = operationsOf('crm', 'crm');
const contract = {
  openDoor: operation('openDoor', { ...spec, method: 'POST' }),
  shutDoor: operation('shutDoor', { ...spec, method: 'DELETE' }),
  countDoors: internalRequest('countDoors', 'crm', z.object({}), z.object({ doors: z.int() })),
};
const otherContract = {
  openWindow: operationsOf('calendar', 'calendar')('openWindow', {
    ...spec,
    path: '/v1/calendar/windows',
    method: 'POST',
  }),
  // @ts-expect-error the path is another service's
  foreignDoor: operationsOf('calendar', 'calendar')('foreignDoor', { ...spec, method: 'POST' }),
  countWindows: internalRequest('countWindows', 'calendar', z.object({}), z.object({ windows: z.int() })),
};

const implement = implementer();
const handle = async () => undefined;
const openDoor = implement(contract.openDoor, { handle });
const shutDoor = implement(contract.shutDoor, { handle });
const openWindow = implement(otherContract.openWindow, { handle });
const countDoors = handleRequest(contract.countDoors, async () => ({ doors: 1 }));
const countWindows = handleRequest(otherContract.countWindows, async () => ({ windows: 1 }));

type Operations = Implements<typeof contract>;
export const complete: Operations = { openDoor, shutDoor };
// @ts-expect-error an operation has no implementation
export const withoutOne: Operations = { openDoor };
// @ts-expect-error an operation is under the name of another
export const underAnotherName: Operations = { openDoor, shutDoor: openDoor };
// @ts-expect-error another contract's operation is under the name of one of this contract
export const withAnothers: Operations = { openDoor, shutDoor: openWindow };
// @ts-expect-error another contract's operation is under its own name
export const withOneMore: Operations = { openDoor, shutDoor, openWindow };
// @ts-expect-error an operation is under a name that no contract has
export const renamed: Operations = { openDoor, shutDoor, closeDoor: shutDoor };

type Replies = RepliesTo<typeof contract>;
export const allReplies: Replies = { countDoors };
// @ts-expect-error a request has no reply
export const withoutReply: Replies = {};
// @ts-expect-error another contract's request is under the name of one of this contract
export const withAnothersReply: Replies = { countDoors: countWindows };
// @ts-expect-error another contract's request is under its own name
export const withOneMoreReply: Replies = { countDoors, countWindows };

const service = { config: baseConfig, migrations: new URL('migrations/', import.meta.url) };
export const definition: ServiceDefinition<typeof contract> = {
  ...service,
  name: 'crm',
  operations: { openDoor, shutDoor },
  requests: { countDoors },
};
export const incomplete: ServiceDefinition<typeof contract> = {
  ...service,
  // @ts-expect-error the contract is another service's
  name: 'calendar',
  // @ts-expect-error an operation has no implementation
  operations: { openDoor },
  // @ts-expect-error a request has no reply
  requests: {},
};
export const ofTwoServices: ServiceDefinition<typeof contract & Pick<typeof otherContract, 'openWindow'>> = {
  ...service,
  // @ts-expect-error the contract's operations name two services
  name: 'crm',
  operations: { openDoor, shutDoor, openWindow },
  requests: { countDoors },
};

import { ApiError } from '@customer-platform/contracts/core';
import { expect, it } from '@jest/globals';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from './wake-loop.ts';

it('a failed round is logged at once, or at the seventh failure in a row if another service is unavailable', async () => {
  const logged: number[] = [];
  const log = { child: () => log, error: ({ failures }: { failures: number }) => logged.push(failures) };
  const failTimes = async (times: number, error: Error) => {
    const { promise: succeeded, resolve: succeed } = Promise.withResolvers<void>();
    let rounds = 0;
    const pace = { everyMs: 60_000, slowestRetryMs: 1, log: log as unknown as Logger };
    const loop = new WakeLoop('test', pace, async () => {
      rounds++;
      if (rounds <= times) throw error;
      succeed();
      return false;
    });
    await succeeded;
    await loop.stop();
    return logged.splice(0);
  };
  expect(await failTimes(2, new Error('broken'))).toEqual([1]);
  const unavailable = new ApiError('service_unavailable', 'gateway does not respond; try again shortly');
  expect(await failTimes(6, unavailable)).toEqual([]);
  expect(await failTimes(31, unavailable)).toEqual([7, 30]);
});

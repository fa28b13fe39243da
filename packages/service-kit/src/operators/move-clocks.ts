import { moveClock, type ServiceName } from '@customer-platform/contracts/core';
import type { Bus } from '../bus/bus.ts';
import type { Clocks } from '../clocks/clocks.ts';
import type { Database } from '../database/database.ts';
import { processInstance } from '../telemetry/telemetry.ts';

/** Has this process go by clocks as they are moved, once its service's database has each move. */
export function moveClocks(
  bus: Bus,
  { service, sql, clocks }: { service: ServiceName; sql: Database; clocks: Clocks },
): void {
  bus.onBack(() => clocks.refresh());
  bus.handleAll(moveClock, async ({ account, aheadMs }) => {
    await clocks.move(sql, account, aheadMs);
    return { service, instance: processInstance };
  });
}

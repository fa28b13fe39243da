import type { Database } from '../database/database.ts';
import type { DueWatch } from '../due-work/due-watch.ts';
import type { Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import { outboxRows } from './outbox.sql.ts';
import { type EventCarrier, OutboxRelay } from './outbox-relay.ts';

interface RelaysParts {
  log: Logger;
  queues: Queues;
  watch: Pick<DueWatch, 'run'>;
}

/**
 * Starts relaying what is in the outbox: a loop for each carrier, so that a bus that is slow or gone delays no events but its own. To
 * operators they are one queue.
 */
export function startRelays(sql: Database, carriers: readonly EventCarrier[], { log, queues, watch }: RelaysParts) {
  const wake = () => {
    for (const relay of relays) relay.wake();
  };
  const seat = queues.open({ queue: 'outbox', rows: outboxRows, hasFailedEvents: true, changed: wake });
  const relays = carriers.map((carrier) => {
    const relayLog = carrier.part ? log.child({ part: carrier.part.name }) : log;
    return new OutboxRelay(sql, carrier, { log: relayLog, seat, watch });
  });
  return {
    /** Says that a transaction with events has committed. */
    wake,
    async stop(): Promise<void> {
      await Promise.all(relays.map((relay) => relay.stop()));
      seat.close();
    },
  };
}

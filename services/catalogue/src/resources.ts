import { type BaseConfig, type Foundation, implementer, meter } from '@customer-platform/service-kit';
import { MessageHandover } from './orders/message-handover.ts';
import { countPendingMessages } from './orders/pending-messages.sql.ts';

/** What this service's operations share. */
export type CatalogueResources = { handover: MessageHandover };

/** The `implement` of this service. */
export const implement = implementer<CatalogueResources>();

/** Starts handing messages over; `stop` ends it after the round under way. */
export async function makeResources(foundation: Foundation<BaseConfig>) {
  const handover = new MessageHandover(foundation);
  const pending = meter.createObservableGauge('catalogue.pending_messages', {
    description: 'Messages to customers that messaging has not taken yet.',
  });
  const observe = async (result: { observe(value: number): void }) => {
    result.observe(await countPendingMessages(foundation.sql));
  };
  pending.addCallback(observe);
  return {
    handover,
    async stop() {
      pending.removeCallback(observe);
      await handover.stop();
    },
  };
}

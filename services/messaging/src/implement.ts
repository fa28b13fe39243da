import type { SecretKeys } from '@customer-platform/outbound';
import { type Ask, implementer } from '@customer-platform/service-kit';
import type { ProviderTools } from './providers/provider.ts';
import type { InboundAnnouncer } from './receipts/inbound-announcer.ts';
import type { Dispatcher } from './sending/dispatcher.ts';

/** What this service's operations, hooks, consumers and jobs share. */
export interface MessagingResources {
  secretKeys: SecretKeys;
  tools: Omit<ProviderTools, 'hookUrl'>;
  hookUrlOf(token: string): string;
  dispatcher: Dispatcher;
  /** Asks another service, for an account. */
  askFor(accountId: string): Ask;
  inbound: InboundAnnouncer;
}

/** The `implement` of this service. */
export const implement = implementer<MessagingResources>();

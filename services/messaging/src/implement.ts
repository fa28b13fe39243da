import type { SecretKeys } from '@customer-platform/outbound';
import { type Ask, implementer, type Worker } from '@customer-platform/service-kit';
import type { UnsubscribeLinks } from './links/unsubscribe-links.ts';
import type { ProviderTools } from './providers/provider.ts';

/** Resources that this service's operations, hooks, consumers and jobs share. */
export interface MessagingResources {
  secretKeys: SecretKeys;
  tools: Omit<ProviderTools, 'hookUrl'>;
  hookUrlOf(token: string): string;
  unsubscribeLinks: UnsubscribeLinks;
  sending: Worker;
  /** Returns a function that sends requests to other services for an account. */
  askFor(accountId: string): Ask;
  inbound: Worker;
}

export const implement = implementer<MessagingResources>();

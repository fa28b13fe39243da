import type { Bus, PublishedEvent } from '../bus/bus.ts';
import type { OutboxPart } from './outbox-part.ts';

/** Carries the committed events of accounts to a bus: of all, or of a part that waits for no other. */
export interface EventCarrier
  extends Pick<Bus, 'isConnected' | 'ready' | 'server' | 'onBack' | 'mostBytes' | 'subjectOf'> {
  part?: OutboxPart;
  /** Resolves once the event is stored; throws where it is not. */
  publish(event: PublishedEvent & { account_id: string }): Promise<void>;
}

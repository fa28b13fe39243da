import { audienceEntered, audienceLeft } from '@customer-platform/contracts/cdp';
import type { EventData } from '@customer-platform/contracts/core';
import type { takeMovesOf } from './moves.sql.ts';

type MoveEvent = typeof audienceEntered | typeof audienceLeft;
type Summary = EventData<MoveEvent>['contact'];

/** Emits the events of queued moves of contacts, before one of them is deleted or merged into the other. */
export function emitKeptMoves(
  emit: (event: MoveEvent, data: EventData<MoveEvent>) => unknown,
  kept: Awaited<ReturnType<typeof takeMovesOf>>,
  contacts: readonly Summary[],
): void {
  const byId = new Map(contacts.map((contact) => [contact.id, contact]));
  for (const { kind, contact_id, ...audience } of kept)
    emit(kind === 'entered' ? audienceEntered : audienceLeft, { audience, contact: byId.get(contact_id)! });
}

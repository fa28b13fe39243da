import { audienceEntered, audienceLeft } from '@customer-platform/contracts/cdp';
import type { EventData } from '@customer-platform/contracts/core';
import type { takeMovesOf } from './moves.sql.ts';

type MoveEvent = typeof audienceEntered | typeof audienceLeft;

/** Emits the events of a contact's moves that were kept: before it is deleted, or merged into another. */
export function tellKeptMoves(
  emit: (event: MoveEvent, data: EventData<MoveEvent>) => unknown,
  kept: Awaited<ReturnType<typeof takeMovesOf>>,
  contact: EventData<MoveEvent>['contact'],
): void {
  for (const { kind, ...audience } of kept)
    emit(kind === 'entered' ? audienceEntered : audienceLeft, { audience, contact });
}

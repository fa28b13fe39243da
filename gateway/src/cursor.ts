import { uuid } from '@customer-platform/contracts/core';
import { badCursor } from '@customer-platform/service-kit';

/** The id that a `starting_after` holds. Throws 400 with that field where it is none. */
export function cursorId(startingAfter: string): string {
  const id = uuid.safeParse(startingAfter);
  if (!id.success) throw badCursor();
  return id.data;
}

import { uuid } from '@customer-platform/contracts/core';
import { badCursor } from '@customer-platform/service-kit';

/** The UUID that a list's `starting_after` is. Throws the refusal of a bad cursor where it is none. */
export function uuidCursor(cursor: string): string {
  const parsed = uuid.safeParse(cursor);
  if (!parsed.success) throw badCursor();
  return parsed.data;
}

/** The integer id that a list's `starting_after` is. Throws the refusal of a bad cursor where it is none. */
export function integerCursor(cursor: string): number {
  if (!/^[1-9]\d{0,14}$/.test(cursor)) throw badCursor();
  return Number(cursor);
}

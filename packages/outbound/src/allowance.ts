import type { Duplex } from 'node:stream';

/** Bytes that a connection may still bring. */
interface Allowance {
  left: number;
}

const allowances = new WeakMap<Duplex, Allowance>();

/** Returns the allowance of a connection, which is without bounds at first. */
function allowanceOf(connection: Duplex): Allowance {
  const allowance = allowances.get(connection) ?? { left: Number.POSITIVE_INFINITY };
  allowances.set(connection, allowance);
  return allowance;
}

/** Has a connection with TLS count what the one below it brings: records without content never come out of it. */
export function countBelow(secured: Duplex, below: Duplex): void {
  allowances.set(secured, allowanceOf(below));
}

/**
 * Allows a connection this many bytes from now on, with all that is beside the body of a response: what frames it (the extensions of chunks, their
 * sizes, what follows the last) comes out of no parser, and without an end.
 */
export function allowBytes(connection: Duplex, bytes: number): void {
  allowanceOf(connection).left = bytes;
}

/** Takes bytes that came off the allowance; destroys the connection, and returns false, where they are more. */
export function takeBytes(connection: Duplex, bytes: number): boolean {
  const allowance = allowanceOf(connection);
  allowance.left -= bytes;
  if (allowance.left >= 0) return true;
  connection.destroy(new Error('more bytes came than are allowed here'));
  return false;
}

import type { Socket } from 'node:net';

/** Passes on what either of two connections gets to the other, and ends each with the other; both are in `open` while they are. */
export function joinSockets(client: Socket, upstream: Socket, open: Set<Socket>): void {
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    open.add(one);
    one.on('error', () => other.destroy());
    one.once('close', () => {
      open.delete(one);
      other.destroySoon();
    });
    one.pipe(other);
  }
}

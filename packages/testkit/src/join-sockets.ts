import type { Socket } from 'node:net';

/** Forwards data between two connections, and closes each when the other closes. `open` contains them while they are open. */
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

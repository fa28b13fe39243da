import type { Socket } from 'node:net';
import type { WorkMeter } from '@customer-platform/service-kit';

/**
 * Has the owner of a server pay for what its responses cost: they are parsed where a socket says that it can be read, and a server chooses what that takes.
 * A head of 16 KiB in short lines takes twenty times as long as a common response, and twenty informational ones may come before it. While the owner rests
 * nothing of it is read, and what comes waits in the connection. Returns the socket.
 */
export function meteredReads<Receiving extends Socket>(socket: Receiving, meter: WorkMeter, owner = ''): Receiving {
  const emit = socket.emit.bind(socket) as Socket['emit'];
  let isWaiting = false;
  const read = () => {
    isWaiting = false;
    emit('readable');
  };
  socket.emit = (event: string | symbol, ...given: unknown[]): boolean => {
    if (event !== 'readable') return emit(event as string, ...given);
    // Said again while the owner rests, it is read all the same.
    if (isWaiting) return true;
    isWaiting = true;
    meter.run(owner, read);
    return true;
  };
  return socket;
}

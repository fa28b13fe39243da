import type { Socket } from 'node:net';

/**
 * Has the driver learn of the end of a connection by its close alone. Between an error and the close it takes further statements and forgets them, which then get what the
 * next ones on the connection get; and where a socket has taken what was written, it gives others a connection that a transaction has.
 */
export function tellOnlyOfTheEnd(socket: Socket): void {
  const on = socket.on.bind(socket) as (event: string, listener: (...values: never[]) => void) => Socket;
  socket.on = ((event: string, listener: (...values: unknown[]) => void) => {
    if (event === 'error' || event === 'drain') return socket;
    // It says that there was no error: then all that the connection had is rejected.
    return on(event, event === 'close' ? () => listener(false) : listener);
  }) as typeof socket.on;
}

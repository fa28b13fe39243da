import type { Socket } from 'node:net';

/** Time for each statement with which the driver itself begins a connection. */
const longestMs = 6_000;

/**
 * A statement that postgres.js makes for itself: where a URL asks for the primary among several servers, and one, or its pooler, does not say by itself
 * whether it is.
 */
interface OwnStatement {
  reject(error: unknown): void;
  resolve(value: unknown): void;
}

/** The socket that is being read, of those that may have such statements: the driver makes them when it has read that a connection is open. */
let reading: Socket | undefined;

/** Has the statements watched that the driver itself makes on a socket. */
export function watchBeginning(socket: Socket): void {
  // Before the driver's own listener.
  socket.on('data', () => {
    reading = socket;
    queueMicrotask(() => {
      reading = undefined;
    });
  });
}

/**
 * Watches a statement that the driver makes for itself, about to be sent, where its socket is watched. Nobody awaits it, so that its failure would end the process, and it
 * has no deadline, so that a connection that falls silent there would be lost: it is closed in both cases, and dialled again for what waits for it.
 */
export function watchOwn(statement: OwnStatement): void {
  const socket = reading;
  if (!socket) return;
  const timer = setTimeout(() => socket.destroy(), longestMs);
  const { resolve } = statement;
  statement.resolve = (value) => {
    clearTimeout(timer);
    // The driver takes the beginning of the next connection for the response where this one has closed, and then asks again.
    if (!socket.destroyed) resolve.call(statement, value);
  };
  statement.reject = () => {
    clearTimeout(timer);
    // So it does with what ended this one, but then it does not ask again.
    (socket.destroyed ? reading : socket)?.destroy();
  };
}

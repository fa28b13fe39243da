import { constants } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';
import { buildConnector } from 'undici';
import { BoundedSocket } from './bounded-socket.ts';

/**
 * TLS with servers that customers name. A server chooses the group of a finite-field key exchange, and calculating in one of ten thousand bits
 * holds the event loop for half a second; a renegotiation is another handshake, at a time of the server's choice.
 */
export const tlsOptions = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  // In TLS 1.3 the groups are fixed, and some of them are dear as well.
  ecdhCurve: 'X25519:P-256:P-384:P-521',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** Target of a dial, an address as `hostname`; `signal` ends the dial, and the connection. */
export type DialTarget = buildConnector.Options & { signal?: AbortSignal };

/** Opens a connection within `timeoutMs`, by https with TLS, whose handshake counts too. */
export type Dial = (target: DialTarget & { timeoutMs: number }, callback: buildConnector.Callback) => void;

/** Creates the dial of a connector, which trusts the certificate authority `ca` (PEM), or the system's by default. */
export function createDial(ca?: string): Dial {
  // Made with the first https: who starts TLS by himself, such as for each mail, needs no context.
  let made: buildConnector.connector | undefined;
  const makeSecure = () => {
    const secureContext = createSecureContext({ ...tlsOptions, ...(ca ? { ca } : {}) });
    return buildConnector({ allowH2: false, maxCachedSessions: 1000, timeout: 0, secureContext });
  };
  return ({ signal, timeoutMs, ...target }, callback) => {
    const isTls = target.protocol === 'https:';
    const port = Number(target.port) || (isTls ? 443 : 80);
    const socket = connect({ host: target.hostname, port, ...socketOptions, ...(signal ? { signal } : {}) });
    const timer = setTimeout(() => socket.destroy(failure('ETIMEDOUT', `not made within ${timeoutMs} ms`)), timeoutMs);
    let isOver = false;
    const end: buildConnector.Callback = (...result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      callback(...result);
    };
    socket.on('error', (error) => end(error, null));
    socket.once('connect', () => {
      if (!isTls) return end(null, socket);
      const bounded = new BoundedSocket(socket);
      made ??= makeSecure();
      made({ ...target, httpSocket: bounded as unknown as Socket }, (...result) => {
        bounded.allow(Number.POSITIVE_INFINITY);
        end(...result);
      });
      // The connector hears of errors alone, and a connection may close without one. An error that there is comes first.
      bounded.once('close', () => {
        if (!isOver) setImmediate(() => end(failure('ECONNRESET', 'ended before it was secure'), null));
      });
    });
  };
}

const socketOptions = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 };

function failure(code: string, what: string): Error {
  return Object.assign(new Error(`the connection was ${what}`), { code });
}

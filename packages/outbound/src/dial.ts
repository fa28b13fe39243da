import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';
import { WorkMeter } from '@customer-platform/service-kit';
import { buildConnector } from 'undici';
import { countBelow } from './allowance.ts';
import { MeteredSocket } from './metered-socket.ts';

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

/**
 * Meter of this process: its connections have one event loop, and a server can choose what they cost by its keys and certificates, and by its responses. A
 * common handshake takes two to five milliseconds in all, 64 KiB afterwards a tenth of one, a common response less: an account's servers may take a sixth of
 * the loop, 50 handshakes a second or more.
 */
export const processMeter = new WorkMeter({ freeMs: 20, restRatio: 5 });

/** Target of a dial: `owner`, the account whose server it is, pays for what the handshake and the responses cost. */
export type DialTarget = buildConnector.Options & { owner?: string };

/** Opens a connection, by https with TLS over a metered one; returns the TCP socket that it dials with. */
export type Dial = (target: DialTarget, callback: buildConnector.Callback) => unknown;

/** Options of a dial's handshakes and its deadlines, one for the connection and one for the handshake, in milliseconds; `meter` is the process's by default. */
export type DialOptions = { timeoutMs: number; certificateAuthority?: string; meter?: WorkMeter };

/** Creates the dial of a connector. */
export function createDial({ timeoutMs, certificateAuthority: ca, meter = processMeter }: DialOptions): Dial {
  const options = { allowH2: false, timeout: timeoutMs };
  const connect = buildConnector(options);
  // Made with the first https: who starts TLS by himself, such as for each mail, needs no context.
  let made: buildConnector.connector | undefined;
  const makeSecure = () => {
    const secureContext = createSecureContext({ ...tlsOptions, ...(ca ? { ca } : {}) });
    return buildConnector({ ...options, maxCachedSessions: 1000, secureContext });
  };
  return ({ owner, ...target }, callback) => {
    if (target.protocol !== 'https:') return connect(target, callback);
    made ??= makeSecure();
    const secure = made;
    const { servername: _, ...plain } = target;
    return connect({ ...plain, protocol: 'tcp:' }, (...[error, socket]) => {
      if (error) return callback(error, null);
      const metered = meteredFor(socket, owner, meter);
      let isOver = false;
      const secured: buildConnector.Callback = (...result) => {
        if (isOver) return;
        isOver = true;
        if (result[1]) {
          metered.secured();
          countBelow(result[1], metered);
        }
        callback(...result);
      };
      // The start takes half a millisecond already, also for a server that ends the connection there.
      meter.run(owner ?? '', () => {
        if (metered.destroyed) {
          secured(metered.errored ?? endedEarly(), null);
          return;
        }
        const socket = secure({ ...target, httpSocket: metered as unknown as Socket }, secured) as unknown as Socket;
        // Where the end comes in the turn of the start there is no error, for which alone the connector listens: its dial would never end.
        socket.once('close', () => secured(endedEarly(), null));
      });
    });
  };
}

const endedEarly = () => Object.assign(new Error('the connection ended before it was secure'), { code: 'ECONNRESET' });

/** Returns a connection over which TLS can be started with a customer's server. */
export function meteredFor(socket: Socket, owner = '', meter: WorkMeter = processMeter): MeteredSocket {
  return new MeteredSocket(socket, meter, owner);
}

import { once } from 'node:events';
import { connect } from 'node:net';
import { atPace, type HostileSetting, type Hostility, pause, type Tally } from './hostility.ts';

/** Client address of hostile hook calls: hooks are limited by client address, so it differs from the healthy customer's providers. */
const hostileAddress = '127.0.0.66';
const mebibyte = 1_048_576;

interface SlowBody {
  path: string;
  headers: Record<string, string>;
  /** Content-Length in bytes. */
  length: number;
  /** Part of the body sent each `everyMs`. */
  piece: Buffer;
  everyMs: number;
  localAddress?: string;
}

/**
 * Sends one request with a slow body, until it gets a response, its connection ends, or the signal is aborted. Returns the status, or
 * how it ended.
 */
async function sendSlowly({ gatewayUrl }: HostileSetting, body: SlowBody, signal: AbortSignal): Promise<string> {
  const { hostname, port, host } = new URL(gatewayUrl);
  const { localAddress } = body;
  const socket = connect({ host: hostname, port: Number(port), ...(localAddress ? { localAddress } : {}) });
  const ended = once(socket, 'close').then(
    () => 'closed',
    () => 'reset',
  );
  const responded = once(socket, 'data').then(
    ([chunk]) => String((chunk as Buffer).toString('latin1', 9, 12)),
    () => 'reset',
  );
  const stop = () => socket.destroy();
  signal.addEventListener('abort', stop);
  const headers = { host, ...body.headers, 'content-length': String(body.length) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write(`POST ${body.path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  let left = body.length;
  const timer = setInterval(() => {
    if (left > 0 && socket.writable) socket.write(body.piece.subarray(0, left));
    left -= body.piece.length;
  }, body.everyMs);
  try {
    const outcome = await Promise.race([responded, ended]);
    return signal.aborted ? 'held to the end' : outcome;
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

/** Target of such requests, the signal that ends them, and the tally of their outcomes. */
interface Run {
  setting: HostileSetting;
  signal: AbortSignal;
  tally: Tally;
}

/** Keeps `count` such requests open; each is sent again once it has ended. */
async function keepOpen(count: number, body: SlowBody, { setting, signal, tally }: Run) {
  const keepOne = async () => {
    while (!signal.aborted) {
      tally.add(await sendSlowly(setting, body, signal));
      await pause(2_000, signal);
    }
  };
  await Promise.all(Array.from({ length: count }, keepOne));
}

const aByteASecond = { length: mebibyte / 2, piece: Buffer.from(' '), everyMs: 1_000 };
const json = { 'content-type': 'application/json' };

/** Slow bodies to two modules that the healthy customer uses. */
export const slowBodies: Hostility = {
  name: '400 slow bodies of a customer with a key',
  async run(setting, signal, tally) {
    const headers = { ...json, authorization: `Bearer ${setting.slow.key}` };
    const on = (path: string) => keepOpen(200, { ...aByteASecond, path, headers }, { setting, signal, tally });
    await Promise.all([on('/v1/cdp/contacts'), on('/v1/messages')]);
  },
};

export const slowHooks: Hostility = {
  name: '200 slow bodies of hooks without a key',
  async run(setting, signal, tally) {
    const from = { headers: json, localAddress: hostileAddress };
    const run = { setting, signal, tally };
    await Promise.all([
      keepOpen(150, { ...aByteASecond, ...from, path: setting.slow.hookPath }, run),
      keepOpen(50, { ...aByteASecond, ...from, path: '/hooks/messages/nobody' }, run),
    ]);
  },
};

export const unknownHooks: Hostility = {
  name: 'hooks with unknown tokens',
  async run(setting, signal, tally) {
    const body = { length: 2, piece: Buffer.from('{}'), everyMs: 1, headers: json, localAddress: hostileAddress };
    await atPace(20, signal, async (index) => {
      tally.add(await sendSlowly(setting, { ...body, path: `/hooks/messages/unknown-${index}` }, signal));
    });
  },
};

/** Two slow uploads of the live account and two of its sandbox, each just fast enough not to be refused. */
export const slowUploads: Hostility = {
  name: 'four slow uploads of a customer',
  async run(setting, signal, tally) {
    const { key, testKey } = setting.slow;
    const upload = {
      path: '/v1/agents/knowledge/files',
      length: 10 * mebibyte,
      piece: Buffer.alloc(2_048, 'a'),
      everyMs: 250,
    };
    const boundary = 'multipart/form-data; boundary=slow';
    const of = (bearer: string) => ({ 'content-type': boundary, authorization: `Bearer ${bearer}` });
    await Promise.all(
      [key, key, testKey, testKey].map((bearer) =>
        keepOpen(1, { ...upload, headers: of(bearer) }, { setting, signal, tally }),
      ),
    );
  },
};

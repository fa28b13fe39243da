import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '../database.ts';
import { isDatabaseUnavailable, isStatementTimeout } from '../database-errors.ts';

let platform: Platform;
let server: Server;
let sql: Database;
const sockets: Socket[] = [];
/** Ways to break a connection in place of forwarding a matching statement; each is used once. */
let breaks: ((client: Socket) => void)[];
/** The string by which a statement matches. */
let broken: string;
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(() => platform?.stop());
beforeEach(async () => {
  process.on('unhandledRejection', note);
  broken = 'pg_is_in_recovery';
  const url = new URL(platform.env('crm').DATABASE_URL!);
  const { port, hostname } = url;
  server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    sockets.push(client, upstream);
    client.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    upstream.pipe(client);
    client.on('data', (sent) => {
      const breakIt = sent.includes(broken) ? breaks.shift() : undefined;
      if (breakIt) breakIt(client);
      else upstream.write(sent);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { host } = url;
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const both = `${url.href.replace(host, `${address},${address}`)}?target_session_attrs=primary`;
  sql = openDatabase(both, { pool: 1, service: 'crm', statementMs: 1_000 });
});
afterEach(async () => {
  await sql?.end({ timeout: 0 });
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
  process.off('unhandledRejection', note);
});

it.each<[string, (client: Socket) => void]>([
  ['is reset', (client) => client.resetAndDestroy()],
  ['falls silent', () => undefined],
])(
  'a connection that %s while it begins is replaced, and the process lives on',
  async (_what, breakIt) => {
    breaks = [breakIt];
    const failed = new Set<boolean>();
    const texts = await waitFor(
      'a connection',
      async () => {
        try {
          return (await sql<{ texts: string[] }[]>`select ${['a', 'b']}::text[] as texts`)[0]!.texts;
        } catch (error) {
          failed.add(isDatabaseUnavailable(error) || isStatementTimeout(error));
          return undefined;
        }
      },
      30_000,
    );
    expect(texts).toEqual(['a', 'b']);
    expect([...failed].filter((isExpected) => !isExpected)).toEqual([]);
    expect(breaks).toEqual([]);
    expect(unhandled).toEqual([]);
  },
  60_000,
);

it.each<[string, (client: Socket) => void]>([
  ['is reset', (client) => client.resetAndDestroy()],
  ['ends amid the result', (client) => client.end(Buffer.from('C\0\0\0\u000dUPD', 'latin1'))],
])('a statement whose connection %s fails and is not run on the next connection', async (_what, breakIt) => {
  await platform.database('crm')`create table if not exists counted (n int)`;
  await platform.database('crm')`truncate counted`;
  await platform.database('crm')`insert into counted values (0)`;
  [broken, breaks] = ['update counted', [breakIt]];
  const update = sql`update counted set n = n + 1 returning n`.then(
    (rows) => rows,
    (error: unknown) => error,
  );
  expect(await sql`select n from counted`).toEqual([{ n: 0 }]);
  expect(isDatabaseUnavailable(await update)).toBe(true);
});

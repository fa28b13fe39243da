import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Received, type Receiver, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';
import { run } from './run.ts';

/** A stand-in for the API, which refuses, stalls or asks to wait on request. */
let api: Receiver;
let tool: Tool;
/** Sets the response to a batch; undefined for success. */
let onBatch: (
  contacts: Contact[],
  count: number,
) => { status: number; headers?: Record<string, string>; field?: string } | 'stall' | undefined;

interface Contact {
  name?: string;
  email?: string;
}

const path = '/v1/cdp/contacts/batch';
const batches = () => api.received.filter((request) => request.path === path);
const contactsOf = ({ body }: Received) => (JSON.parse(body) as { contacts: Contact[] }).contacts;
const keysOf = (requests: Received[]) => requests.map(({ headers }) => headers['idempotency-key']);

beforeEach(async () => {
  api = await startReceiver();
  onBatch = () => undefined;
  api.respond = (request, response) => {
    if (request.path === '/v1/me') {
      return void response.end(JSON.stringify({ account: { id: 'a1', name: 'Acme' }, mode: 'test' }));
    }
    const contacts = contactsOf(request);
    const answer = onBatch(contacts, batches().length);
    if (answer === 'stall') return;
    if (answer) {
      response.writeHead(answer.status, answer.headers ?? {});
      return void response.end(
        JSON.stringify({ error: { code: 'rate_limited', message: 'Slow down', field: answer.field } }),
      );
    }
    response.end(JSON.stringify(written(contacts)));
  };
  tool = openTool({ CUSTOMER_PLATFORM_URL: api.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' });
});
afterEach(async () => {
  tool.remove();
  await api.stop();
});

/** Refuses contacts whose name is "No". */
function written(contacts: Contact[]): unknown {
  const data = contacts.map(({ name }, index) => {
    const message = `contacts[${index}].name must not be "No"`;
    const error = name === 'No' ? { code: 'invalid_request', message, field: 'name' } : null;
    return { index, outcome: error ? 'failed' : 'created', id: error ? null : 'c1', error };
  });
  const failed = data.filter(({ error }) => error).length;
  return { created: contacts.length - failed, updated: 0, unchanged: 0, failed, data };
}

const fileOf = (name: string) => join(tool.folder, name);
function write(name: string, content: string): string {
  writeFileSync(fileOf(name), content);
  return fileOf(name);
}
const people = (count: number, name = (index: number) => `Ada ${index}`) =>
  `name,email\n${Array.from({ length: count }, (_each, index) => `${name(index)},a${index}@example.com\n`).join('')}`;

describe('contacts import', () => {
  it('sends batches of 500 in the order of the file, and ends with counts', async () => {
    const file = write('people.csv', people(1_201));
    const { code, out, err } = await tool.run(['contacts', 'import', file]);
    expect([code, out]).toEqual([0, '1,201 rows: 1,201 created, 0 updated, 0 unchanged, 0 failed\n']);
    expect(err).toContain('name   → name\n');
    expect(batches().map((request) => contactsOf(request).length)).toEqual([500, 500, 201]);
    expect(
      batches()
        .flatMap(contactsOf)
        .map(({ name }) => name),
    ).toEqual(Array.from({ length: 1_201 }, (_each, index) => `Ada ${index}`));
    expect(new Set(keysOf(batches())).size).toBe(3);
    expect([existsSync(`${file}.import.json`), existsSync(fileOf('people.failed.csv'))]).toEqual([false, false]);
  });

  it('writes failed rows next to the file, with all cells and the error, and exits with 1', async () => {
    const text = 'Name;Points;Comment\nAda;1;"a;b"\nNo;2;"say ""hi"""\nBen;many;x\nZoë;4\nNo;5;last\n';
    const file = write('people.csv', text);
    const args = ['--map', 'name=Name,fields.points=Points', '--type', 'fields.points=number', '--tag', 'new'];
    const { code, out } = await tool.run(['contacts', 'import', file, ...args, '--json']);
    const counts = { rows: 5, done: 5, created: 1, updated: 0, unchanged: 0, failed: 4 };
    expect([code, JSON.parse(out)]).toEqual([1, { ...counts, failed_file: fileOf('people.failed.csv') }]);
    expect(batches().flatMap(contactsOf)[0]).toEqual({ name: 'Ada', fields: { points: 1 }, tags: ['new'] });
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8').split('\n')).toEqual([
      'Name;Points;Comment;error',
      'No;2;"say ""hi""";"name must not be ""No"""',
      'Ben;many;x;"fields.points must be a number, such as 12.5, not ""many"""',
      'Zoë;4;;line 5 has 2 cells, but the header has 3: is a separator or a quote missing?',
      'No;5;last;"name must not be ""No"""',
      '',
    ]);
  });

  it('imports a corrected file of failed rows, and JSON Lines unchanged', async () => {
    const corrected = write('people.failed.csv', 'name,error\nAda,"name must not be ""No"""\nNo,old\n');
    expect((await tool.run(['contacts', 'import', corrected])).code).toBe(1);
    expect(readFileSync(fileOf('people.failed.failed.csv'), 'utf8')).toBe('name,error\nNo,"name must not be ""No"""\n');
    const lines = write('people.jsonl', '{"name":"Ada","fields":{"points":5}}\n{"name":"No","id":"x"}\n');
    expect(await tool.run(['contacts', 'import', lines])).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 created'),
    });
    expect(contactsOf(batches().at(-1)!)).toEqual([{ name: 'Ada', fields: { points: 5 } }, { name: 'No' }]);
    expect(readFileSync(fileOf('people.failed.jsonl'), 'utf8')).toBe(
      '{"name":"No","id":"x","error":"name must not be \\"No\\""}\n',
    );
  });

  it('refuses a number that would be rounded, and keeps its line unchanged with one error after repeated failures', async () => {
    const lines = [
      '{"external_id":7}',
      '{"external_id": 1234567890123456789, "note": 1.50 }',
      '{"error":"old","name":"No"}',
    ];
    const file = write('people.jsonl', `${lines.join('\r\n')}\r\n`);
    const args = ['--map', 'external_id=external_id,name=name'];
    expect((await tool.run(['contacts', 'import', file, ...args])).code).toBe(1);
    expect(batches().flatMap(contactsOf)).toEqual([{ external_id: '7' }, { name: 'No' }]);
    const rule = 'only whole numbers up to 9007199254740991 are read exactly';
    const failed = [
      `{"external_id": 1234567890123456789, "note": 1.50,"error":"external_id must be a string: ${rule}"}`,
      '{"error":"old","name":"No","error":"name must not be \\"No\\""}',
    ];
    expect(readFileSync(fileOf('people.failed.jsonl'), 'utf8')).toBe(`${failed.join('\n')}\n`);
    await tool.run(['contacts', 'import', fileOf('people.failed.jsonl'), ...args]);
    expect(readFileSync(fileOf('people.failed.failed.jsonl'), 'utf8')).toBe(`${failed.join('\n')}\n`);
  });

  it('writes all cells of a row with too many, the extra ones after the error, readable only by the owner', async () => {
    const file = write('people.csv', 'name,email\nAda,a@example.com,x,"y,z"\n');
    expect((await tool.run(['contacts', 'import', file])).code).toBe(1);
    const [head, row] = readFileSync(fileOf('people.failed.csv'), 'utf8').split('\n');
    expect(head).toBe('name,email,error');
    expect(row).toMatch(/^Ada,a@example\.com,"line 2 has 4 cells, [^"]+",x,"y,z"$/);
    expect(statSync(fileOf('people.failed.csv')).mode & 0o777).toBe(0o600);
    await tool.run(['contacts', 'import', fileOf('people.failed.csv')]);
    expect(readFileSync(fileOf('people.failed.failed.csv'), 'utf8')).toMatch(/",x,"y,z"\n$/);
  });

  it('sends smaller batches after the platform refuses a large one, also after an interruption', async () => {
    const file = write(
      'people.csv',
      people(1_001, (index) => (index === 0 ? 'No' : `Ada ${index}`)),
    );
    onBatch = (contacts, count) => {
      if (contacts.length > 130) return { status: 400, field: 'contacts' };
      return count === 5 ? 'stall' : undefined;
    };
    const first = tool.start(['contacts', 'import', file]);
    await waitFor('the fifth batch', () => batches().length === 5);
    first.interrupt();
    expect((await first.end()).err).toContain('Interrupted after 250 of 1,001 rows');
    onBatch = (contacts) => (contacts.length > 130 ? { status: 400, field: 'contacts' } : undefined);
    const { code, out } = await tool.run(['contacts', 'import', file]);
    expect([code, out]).toEqual([
      1,
      expect.stringContaining('1,001 rows: 1,000 created, 0 updated, 0 unchanged, 1 failed'),
    ]);
    const sizes = [500, 250, 125, 125, 125, 125, 125, 125, 125, 125, 125, 1];
    expect(batches().map((request) => contactsOf(request).length)).toEqual(sizes);
    const keys = keysOf(batches());
    expect([new Set(keys).size, keys[5], batches()[5]!.body]).toEqual([sizes.length - 1, keys[4], batches()[4]!.body]);
  });

  it('counts a single row as failed if the platform refuses it as too large', async () => {
    const file = write('people.csv', people(3));
    onBatch = (contacts) =>
      contacts.some(({ name }) => name === 'Ada 1') ? { status: 400, field: 'contacts' } : undefined;
    const { code, out } = await tool.run(['contacts', 'import', file]);
    expect([code, out]).toEqual([1, expect.stringContaining('3 rows: 2 created, 0 updated, 0 unchanged, 1 failed')]);
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8')).toBe(
      'name,email,error\nAda 1,a1@example.com,Slow down\n',
    );
  });

  it.each([
    ['removed', undefined],
    ['shortened', 'name,em'],
  ])('starts a new file of failed rows if the old one was %s', async (_what, left) => {
    const file = write(
      'people.csv',
      people(900, (index) => (index % 600 === 0 ? 'No' : `Ada ${index}`)),
    );
    onBatch = (_contacts, count) => (count === 2 ? { status: 403 } : undefined);
    await tool.run(['contacts', 'import', file]);
    if (left === undefined) rmSync(fileOf('people.failed.csv'));
    else write('people.failed.csv', left);
    onBatch = () => undefined;
    expect((await tool.run(['contacts', 'import', file])).out).toContain('900 rows: 898 created');
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8')).toBe(
      'name,email,error\nNo,a600@example.com,"name must not be ""No"""\n',
    );
  });

  it('continues after an interruption, and sends the pending batch again with the same key', async () => {
    const file = write(
      'people.csv',
      people(1_600, (index) => (index % 400 === 0 ? 'No' : `Ada ${index}`)),
    );
    onBatch = (_contacts, count) => (count === 3 ? 'stall' : undefined);
    const first = tool.start(['contacts', 'import', file]);
    await waitFor('the third batch', () => batches().length === 3);
    first.interrupt();
    const ended = await first.end();
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toContain('Interrupted after 1,000 of 1,600 rows: repeat the command to continue');
    onBatch = () => undefined;
    const second = await tool.run(['contacts', 'import', file]);
    expect(second.err).toContain('Continuing after 1,000 of 1,600 rows');
    expect([second.code, second.out.split('\n')[0]]).toEqual([
      1,
      '1,600 rows: 1,596 created, 0 updated, 0 unchanged, 4 failed',
    ]);
    const [, , stalled, again] = batches();
    expect([again!.body, keysOf([again!])]).toEqual([stalled!.body, keysOf([stalled!])]);
    expect(batches()).toHaveLength(5);
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8').match(/^No,/gm)).toHaveLength(4);
    expect(existsSync(`${file}.import.json`)).toBe(false);
  });

  it('writes no failed row twice after a kill between its two files', async () => {
    const file = write(
      'people.csv',
      people(900, (index) => (index % 450 === 0 ? 'No' : `Ada ${index}`)),
    );
    onBatch = (_contacts, count) => (count === 2 ? 'stall' : undefined);
    const first = tool.start(['contacts', 'import', file]);
    await waitFor('the second batch', () => batches().length === 2);
    first.interrupt();
    await first.end();
    writeFileSync(fileOf('people.failed.csv'), `${readFileSync(fileOf('people.failed.csv'), 'utf8')}No,half a ro`);
    onBatch = () => undefined;
    await tool.run(['contacts', 'import', file]);
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8').match(/.+/g)).toEqual([
      'name,email,error',
      'No,a0@example.com,"name must not be ""No"""',
      'No,a450@example.com,"name must not be ""No"""',
    ]);
  });

  it('continues only with the same content, flags and account; --restart starts over', async () => {
    const file = write('people.csv', people(600));
    onBatch = (_contacts, count) => (count === 2 ? 'stall' : undefined);
    const first = tool.start(['contacts', 'import', file]);
    await waitFor('the second batch', () => batches().length === 2);
    first.interrupt();
    await first.end();
    onBatch = () => undefined;
    const other = await tool.run(['contacts', 'import', file, '--tag', 'new']);
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining('start over with --restart') });
    writeFileSync(file, people(601));
    expect(await tool.run(['contacts', 'import', file])).toMatchObject({ code: 1 });
    expect(batches()).toHaveLength(2);
    const { code } = await tool.run(['contacts', 'import', file, '--restart']);
    expect([code, batches().length]).toEqual([0, 4]);
    expect(new Set(keysOf(batches())).size).toBe(4);
  });

  it('uses other keys for a second import of the same file', async () => {
    const file = write('people.csv', people(1));
    await tool.run(['contacts', 'import', file]);
    await tool.run(['contacts', 'import', file]);
    expect(new Set(keysOf(batches())).size).toBe(2);
  });

  it('waits as long as the platform asks, and sends the same batch again', async () => {
    const file = write('people.csv', people(2));
    const answers = [
      { status: 429, headers: { 'retry-after': '1' } },
      { status: 503, headers: { 'retry-after': '0' } },
    ];
    onBatch = (_contacts, count) => answers[count - 1];
    const began = Date.now();
    expect((await tool.run(['contacts', 'import', file])).code).toBe(0);
    expect([batches().length, new Set(keysOf(batches())).size]).toEqual([3, 1]);
    expect(batches()[1]!.at - began).toBeGreaterThanOrEqual(1_000);
  });

  it('stops when the platform refuses a batch, and says how to continue', async () => {
    const file = write('people.csv', people(600));
    onBatch = (_contacts, count) => (count === 2 ? { status: 403 } : undefined);
    const { code, err } = await tool.run(['contacts', 'import', file]);
    expect([code, err.trimEnd().split('\n').slice(-2)]).toEqual([
      1,
      ['Stopped after 500 of 600 rows: repeat the command to continue', 'refused (403 rate_limited): Slow down'],
    ]);
  });

  it('limits the size of requests, and refuses a contact that is too large', async () => {
    const long = 'x'.repeat(100_000);
    const rows = Array.from({ length: 12 }, (_each, index) => `Ada ${index},${long}`);
    const file = write('people.csv', `name,fields.note\n${rows.join('\n')}\nBen,${long.repeat(6)}\n`);
    const { code, out } = await tool.run(['contacts', 'import', file]);
    expect([code, out]).toEqual([1, expect.stringContaining('13 rows: 12 created, 0 updated, 0 unchanged, 1 failed')]);
    expect(batches().map((request) => contactsOf(request).length)).toEqual([4, 4, 4]);
    expect(readFileSync(fileOf('people.failed.csv'), 'utf8')).toContain(
      ',the contact has more than 491520 bytes as JSON',
    );
  });

  it('--dry-run shows a preview, and needs no key', async () => {
    const file = write('people.csv', 'Name\tPoints\tx\nAda\t1\t\nBen\tno\t\n');
    const args = [
      'contacts',
      'import',
      file,
      '--map',
      'name=Name,fields.points=Points',
      '--type',
      'fields.points=number',
    ];
    const env = { CUSTOMER_PLATFORM_KEY: '', CUSTOMER_PLATFORM_URL: '' };
    const { code, out } = await tool.run([...args, '--tag', 'new', '--dry-run'], { env });
    expect([code, out.split('\n').slice(1)]).toEqual([
      0,
      [
        '  Name    → name',
        '  Points  → fields.points (number)',
        '  x       → not imported',
        'Every contact gets the tag new',
        'This tag replaces all tags of an existing contact',
        'The first 2 rows:',
        '  name                                                      fields.points',
        '  Ada                                                       1',
        '  (fields.points must be a number, such as 12.5, not "no")',
        '',
      ],
    ]);
    expect(out).toContain('people.csv: 2 rows, CSV in utf-8, cells separated by tabs\n');
    const json = JSON.parse((await tool.run([...args, '--dry-run', '--json'], { env })).out) as unknown;
    expect(json).toMatchObject({
      rows: 2,
      columns: [{ column: 'Name', field: 'name' }, { type: 'number' }],
      ignored: ['x'],
      sample: [{ contact: { name: 'Ada', fields: { points: 1 } } }, { fault: expect.any(String) }],
    });
    expect(api.received).toEqual([]);
  });

  it('reports errors in the file or a flag before it sends anything', async () => {
    const file = write('people.csv', 'Name\nAda\n');
    const mapped = await tool.run(['contacts', 'import', file, '--map', 'name=Nme']);
    expect(mapped).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^--map: .*people\.csv has no column "Nme"; its columns are "Name"\n/),
    });
    const full = write('full.csv', 'Full name\nAda\n');
    expect((await tool.run(['contacts', 'import', full])).err).toContain(
      'Choose the columns with --map, such as --map "name=Full name"',
    );
    const broken = write('broken.csv', 'name\n"Ada\n');
    const { code, out } = await tool.run(['contacts', 'import', broken, '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([
      1,
      { error: { code: 'invalid_file', message: expect.stringContaining('line 2') } },
    ]);
    expect(api.received).toEqual([]);
  });
});

describe('contacts import in a terminal', () => {
  /** Runs an import in a terminal whose user types an answer. */
  async function typed(answer: string, ...more: string[]) {
    const file = write('people.csv', people(501));
    const { PassThrough } = await import('node:stream');
    const input = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream;
    const told = { out: [] as string[], err: [] as string[], drawn: [] as string[] };
    const code = await run(['contacts', 'import', file, ...more], {
      env: { CUSTOMER_PLATFORM_URL: api.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key', XDG_CONFIG_HOME: tool.folder },
      input,
      print: (line) => told.out.push(line),
      note(line) {
        told.err.push(line);
        if (line.endsWith('[y/N]')) (input as unknown as NodeJS.WritableStream).write(`${answer}\n`);
      },
      write: () => Promise.resolve(),
      terminal: { draw: (line) => told.drawn.push(line) },
      signal: new AbortController().signal,
    });
    return { code, ...told };
  }

  it('asks before the first request, and sends nothing unless the answer is yes', async () => {
    const declined = await typed('n');
    expect([declined.code, declined.err.slice(-2)]).toEqual([
      1,
      ['Import 501 rows into Acme (test)? [y/N]', 'Nothing was sent'],
    ]);
    expect(batches()).toEqual([]);
    expect((await typed('y')).code).toBe(0);
    expect(batches()).toHaveLength(2);
  });

  it('does not ask with --yes, and shows and removes a progress bar', async () => {
    const { code, err, drawn, out } = await typed('', '--yes');
    expect([code, err.some((line) => line.includes('[y/N]'))]).toEqual([0, false]);
    expect(drawn[0]).toMatch(/^\[#{24}\.{0}\] {2}99 % {2}500 of 501 rows {2}[\d,]+ rows\/s$/);
    expect(drawn.at(-1)).toBe('');
    expect(out).toEqual(['501 rows: 501 created, 0 updated, 0 unchanged, 0 failed']);
  });
});

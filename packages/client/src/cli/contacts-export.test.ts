import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Receiver, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openTool, type Tool } from '../../test/tool.ts';

/** A stand-in for the API, which stalls or asks to wait on request. */
let api: Receiver;
let tool: Tool;
let onPage: (count: number) => 'stall' | 'wait' | undefined;

const contact = (id: string, more: object = {}) => ({
  ...{
    id,
    number: 7,
    external_id: null,
    name: 'Ada',
    phone: null,
    email: null,
    tags: [],
    fields: {},
    merged_into: null,
  },
  ...more,
});
const pages = [
  [
    contact('c4', { name: '=1+1', phone: '+4930901820', fields: { city: 'Köln', constructor: true } }),
    contact('c3', { name: 'O"Neil, 3\nrd', tags: ['vip', 'a,b'], fields: { points: -1.5 } }),
  ],
  [contact('c2', { external_id: '-x', email: 'ada@example.com', fields: { ['__proto__']: 'odd' } }), contact('c1')],
];

beforeEach(async () => {
  api = await startReceiver();
  onPage = () => undefined;
  api.respond = ({ path }, response) => {
    const action = onPage(api.received.length);
    if (action === 'stall') return;
    if (action === 'wait') {
      response.writeHead(503, { 'retry-after': '0' });
      return void response.end(JSON.stringify({ error: { code: 'service_unavailable', message: 'Later' } }));
    }
    const isSecond = path.includes('starting_after=next');
    const data = pages[isSecond ? 1 : 0];
    response.end(JSON.stringify({ data, has_more: !isSecond, next: isSecond ? null : 'next' }));
  };
  tool = openTool({ CUSTOMER_PLATFORM_URL: api.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' });
});
afterEach(async () => {
  tool.remove();
  await api.stop();
});

it('writes CSV of all pages, with a column for each custom field and nothing that a spreadsheet would run', async () => {
  const { code, out } = await tool.run(['contacts', 'export']);
  expect([code, out.split('\r\n')]).toEqual([
    0,
    [
      'id,number,external_id,name,phone,email,tags,fields.__proto__,fields.city,fields.constructor,fields.points',
      "c4,7,,'=1+1,+4930901820,,,,Köln,true,",
      'c3,7,,"O""Neil, 3\nrd",,,"vip,""a,b""",,,,-1.5',
      "c2,7,'-x,Ada,,ada@example.com,,odd,,,",
      'c1,7,,Ada,,,,,,,',
      '',
    ],
  ]);
  expect(api.received.map(({ path }) => path)).toEqual([
    '/v1/cdp/contacts?limit=100',
    '/v1/cdp/contacts?limit=100&starting_after=next',
  ]);
});

it('writes JSON Lines by the extension of the file, as the API returns contacts, readable only by the owner', async () => {
  onPage = (count) => (count === 2 ? 'wait' : undefined);
  const file = join(tool.folder, 'people.jsonl');
  expect(JSON.parse((await tool.run(['contacts', 'export', '-o', file, '--json'])).out)).toEqual({ contacts: 4, file });
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(pages.flat());
  expect([statSync(file).mode & 0o777, api.received.length]).toEqual([0o600, 3]);
});

it('writes a file completely or not at all', async () => {
  onPage = (count) => (count === 2 ? 'stall' : undefined);
  const file = join(tool.folder, 'people.csv');
  const run = tool.start(['contacts', 'export', '-o', file]);
  await waitFor('the second page', () => api.received.length === 2);
  run.interrupt();
  expect(await run.end()).toMatchObject({ code: 1, out: '' });
  expect([existsSync(file), readdirSync(tool.folder)]).toEqual([false, []]);
  const none = join(tool.folder, 'none/people.csv');
  const { code, err } = await tool.run(['contacts', 'export', '-o', none]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^--output: \S+ cannot be written: there is no such file or folder/),
  ]);
  expect(err.startsWith(`--output: ${none}`)).toBe(true);
});

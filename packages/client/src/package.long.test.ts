import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { startBrowser } from '@customer-platform/console/browser';
import { openApiDocument } from '@customer-platform/contracts/openapi';
import { type Received, type Receiver, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startAssistant } from '../test/assistant.ts';
import { findRuntimes, type Runtime } from '../test/runtimes.ts';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'client-package-'));
const installed = join(folder, 'node_modules/@customer-platform/client');

/** Node 20, the current Node, Deno and Bun. Each runs the installed package. */
const { runtimes, missing } = findRuntimes();

let server: Receiver;
beforeAll(async () => {
  execute('npm', ['run', 'build', '--silent', '-w', 'packages/client'], root);
  const [tarball] = globSync('packages/client/dist/*.tgz', { cwd: root });
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
  execute('npm', ['install', '--offline', '--silent', join(root, tarball!)], folder);
  server = await startReceiver();
}, 300_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

function execute(program: string, args: string[], cwd = root): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 200_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}

/** Disables update checks and crash reports of the runtimes. */
const quiet = { DENO_DIR: join(folder, '.deno'), DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1' };

/** Returns a program's output. This process's server responds to the program meanwhile. */
async function output({ program, before }: Runtime, args: string[], env: Record<string, string> = {}): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, ...quiet, ...env }, timeout: 60_000 };
  const { stdout } = await promisify(execFile)(program, [...before, ...args], options);
  return stdout;
}

/** A customer's program. It must type-check and run. */
const program = `import {
  type Appointment, ConnectionError, createClient, type Event, isPlatformError, type ListContactsQuery, type RequestError, signWebhook,
  verifyWebhook,
} from '@customer-platform/client';

const client = createClient({ baseUrl: process.argv[2]!, apiKey: 'cp_test_key', retries: 1, timeoutMs: 5_000 });

export async function book(contact: string): Promise<Appointment | undefined> {
  try {
    return await client.calendar.appointments.create({ body: { contact, booking_type: 1, starts_at: '2026-11-20T09:00:00+01:00' } });
  } catch (error) {
    if (isPlatformError(error, 'slot_taken')) return undefined;
    throw error;
  }
}

export function explain(error: RequestError): string {
  switch (error.code) {
    case 'connection_failed':
    case 'timed_out':
      return error.message;
    case 'unexpected_response':
      return error.body;
    default:
      return \`\${error.status} \${error.field}\`;
  }
}

export function told(event: Event): string {
  if (event.type === 'order.declined') return \`\${event.data.order.number}\`;
  // @ts-expect-error: an event of another kind has no order
  return String(event.data.order);
}

// @ts-expect-error: a booking has a start
const incomplete = () => client.calendar.appointments.create({ body: { contact: '', booking_type: 1 } });
// @ts-expect-error: the former name takes the same
const alias = () => client.bookAppointment({ body: { contact: '', booking_type: 1 } });
// @ts-expect-error: the status does not exist
const mistyped = () => client.calendar.appointments.list({ query: { status: 'booked' } });
// @ts-expect-error: an event is numbered, by a number
const numbered = () => client.events.list({ query: { after_sequence: '41' } });
// @ts-expect-error: a message is never opened
const opened = () => client.waitFor.message('m1', 'opened');
export const mistakes = [incomplete, alias, mistyped, numbered, opened, ConnectionError];

const names: string[] = [];
const query: ListContactsQuery = {};
for await (const contact of client.cdp.contacts.list({ query })) names.push(contact.name);
const { data, response } = await client.messages.get({ params: { message_id: 'm1' } }).withResponse();
const read = await client.waitFor.message('m1', 'delivered', { timeoutMs: 5_000 });
console.log(data.status, response.status, response.requestId, read.status);
const body = JSON.stringify({ id: 'e1', type: 'contact.created', data: {} });
const secret = 'whsec_' + btoa('a secret of 32 characters, it is');
const event = await verifyWebhook(await signWebhook(body, secret, { id: 'e1' }), body, secret);
console.log(names.join(), event.type);
for await (const event of client.events.stream({ types: ['order.*'], afterSequence: 41 })) {
  const sequence: number = event.sequence;
  console.log(sequence, told(event));
  if (sequence === 43) break;
}
`;
const printed = ['sent 200 r1 read', 'Ada,Ben contact.created', '42 7', '43 7'];
const requested = [
  'GET /v1/cdp/contacts',
  'GET /v1/cdp/contacts?starting_after=x',
  'GET /v1/messages/m1',
  'GET /v1/messages/m1',
  'GET /v1/events/stream?types=order.* after 41',
  'GET /v1/events/stream?types=order.* after 42',
];

/** Responds to the program. It serves two pages of contacts, a message that is sent and then read, and streams of one event. */
const respond: Receiver['respond'] = (request, response) => {
  if (request.path.startsWith('/v1/events/stream')) {
    const sequence = Number(request.headers['last-event-id']) + 1;
    const data = JSON.stringify({ type: 'order.declined', data: { order: { number: 7 } } });
    response.setHeader('content-type', 'text/event-stream');
    return response.end(`id: ${sequence}\nevent: order.declined\ndata: ${data}\n\n`);
  }
  if (request.path === '/v1/messages/m1') {
    const isFirst = requests().filter((line) => line === 'GET /v1/messages/m1').length === 1;
    response.setHeader('request-id', 'r1');
    return response.end(JSON.stringify({ id: 'm1', status: isFirst ? 'sent' : 'read' }));
  }
  const isLast = request.path.includes('starting_after');
  const page = { data: [{ name: isLast ? 'Ben' : 'Ada' }], has_more: !isLast, next: isLast ? null : 'x' };
  return response.end(JSON.stringify(page));
};
const requests = () => server.received.filter(({ path }) => path.startsWith('/v1/')).map(lineOf);
const lineOf = ({ method, path, headers }: Received) => {
  const last = headers['last-event-id'];
  return `${method} ${decodeURIComponent(path)}${last === undefined ? '' : ` after ${last}`}`;
};

const browserProgram = program.replace('process.argv[2]!', 'location.origin');
const browserOptions = '--module esnext --moduleResolution bundler --lib es2022,dom,dom.asynciterable'.split(' ');

function compile(options: string[]): string {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--strict', '--target', 'es2022', '--ignoreConfig', '--typeRoots', join(root, 'node_modules/@types')];
  return execute(process.execPath, [compiler, ...strict, ...options, 'program.ts'], folder);
}

describe('the package, installed in an empty folder', () => {
  it('has no dependencies and no unnecessary files', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: '@customer-platform/client', engines: { node: '>=20.3' } });
    expect(manifest.dependencies).toBeUndefined();
    expect(globSync('node_modules/*', { cwd: folder })).toEqual(['node_modules/@customer-platform']);
    const files = globSync('**/*.*', { cwd: installed }).filter((file) => !/\.(?:js|d\.ts)$/.test(file));
    expect(files.sort()).toEqual(['README.md', 'package.json']);
    const licenses = readFileSync(join(installed, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(licenses).toMatch(/^## @modelcontextprotocol\/sdk - [\d.]+ \(MIT\)$/m);
  });

  it('is at most 16 kB of JavaScript when compressed, without the command line', () => {
    const files = globSync('**/*.js', { cwd: installed, exclude: ['cli/**'] });
    const code = files.map((file) => readFileSync(join(installed, file), 'utf8')).join('');
    expect(code).toContain('calendar.appointments.create');
    expect(gzipSync(code).length).toBeLessThanOrEqual(16_000);
  });

  it('imports Node modules only in the command line, so that browsers can load it', () => {
    const imports = globSync('**/*.js', { cwd: installed, exclude: ['cli/**'] }).flatMap((file) => {
      return [...readFileSync(join(installed, file), 'utf8').matchAll(/from '([^']+)'|import\('([^']+)'\)/g)].map(
        ([, name]) => name!,
      );
    });
    expect(imports.length).toBeGreaterThan(5);
    expect(imports.filter((name) => !/^\.{1,2}\/.*\.js$/.test(name))).toEqual([]);
  });

  it.each([
    ['as Node resolves it', ['--module', 'nodenext', '--types', 'node']],
    ['as bundlers resolve it, in a browser', browserOptions],
    ['with every optional property exact', ['--module', 'nodenext', '--types', 'node', '--exactOptionalPropertyTypes']],
  ])('has types that hold %s', (name, options) => {
    writeFileSync(join(folder, 'program.ts'), name.includes('browser') ? browserProgram : program);
    expect(() => compile(['--noEmit', ...options])).not.toThrow();
    writeFileSync(join(folder, 'program.ts'), program.replaceAll('// @ts-expect-error', '//'));
    expect(() => compile(['--noEmit', '--module', 'nodenext', '--types', 'node'])).toThrow(/starts_at/);
  });
});

/** Compiles the program once for all runtimes, and returns its path. */
function compiledProgram(): string {
  const compiled = join(folder, 'out/program.js');
  if (existsSync(compiled)) return compiled;
  mkdirSync(join(folder, 'out'), { recursive: true });
  writeFileSync(join(folder, 'program.ts'), program);
  compile(['--module', 'nodenext', '--types', 'node', '--outDir', 'out']);
  return compiled;
}

describe.each(runtimes)('on $name', (runtime) => {
  it('a program that imports it runs', async () => {
    server.received.length = 0;
    server.respond = respond;
    const text = await output(runtime, [compiledProgram(), server.url]);
    expect(text.trim().split('\n')).toEqual(printed);
    expect(requests()).toEqual(requested);
  });

  it('its command line runs', async () => {
    server.respond = (_request, response) => response.end('{"mode":"test"}');
    const env = { CUSTOMER_PLATFORM_URL: server.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' };
    expect(await output(runtime, [runtime.commandLine, 'request', 'GET', '/v1/me', '--json'], env)).toBe(
      '{"mode":"test"}\n',
    );
  });

  it('its server for assistants finds operations and calls them', async () => {
    server.respond = ({ path }, response) => {
      if (path === '/llms.txt')
        return response.end('# Guides\n\n- [Webhooks](/docs/webhooks.md): How to receive events.\n');
      if (path === '/docs/webhooks.md') return response.end('# Webhooks');
      if (path === '/v1/openapi.json') return response.end(JSON.stringify(openApiDocument()));
      return response.end('{"mode":"test","scopes":["*"],"modules":["cdp"],"account":{"name":"Acme"}}');
    };
    const settings = { CUSTOMER_PLATFORM_URL: server.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' };
    const env = { ...(process.env as Record<string, string>), ...quiet, ...settings };
    const command: [string, ...string[]] = [runtime.program, ...runtime.before, runtime.commandLine, 'mcp'];
    const assistant = await startAssistant(command, { env, cwd: folder, answer: 'accept' });
    try {
      const { operations } = await assistant.json('search_operations', { query: 'create a contact' });
      expect(operations[0]).toMatchObject({ operation: 'createContact' });
      const { guides } = await assistant.json('search_operations', { query: 'receive events' });
      expect(guides).toEqual([{ page: 'webhooks', title: 'Webhooks', description: 'How to receive events.' }]);
      expect((await assistant.call('read_guide', { page: 'webhooks' })).text).toBe('# Webhooks');
      expect(await assistant.json('call_operation', { operation: 'getMe' })).toMatchObject({ mode: 'test' });
      await assistant.json('call_operation_write', { operation: 'createContact', body: { name: 'Ada' } });
      expect([assistant.questions.length, assistant.strays]).toEqual([1, []]);
    } finally {
      await assistant.close();
    }
  });

  it('its command line reads files in every encoding', async () => {
    const text = 'name;tags\nZoë €;"a;b"\n';
    const files: [string, Uint8Array][] = [
      ['utf-8', Buffer.from(text)],
      ['utf-16le', Buffer.from(text, 'utf16le')],
      ['utf-16be', Buffer.from(text, 'utf16le').swap16()],
      ['windows-1252', Buffer.from(text.replace('€', '\u0080'), 'latin1')],
    ];
    for (const [encoding, bytes] of files) {
      writeFileSync(join(folder, 'people.csv'), bytes);
      const args = [runtime.commandLine, 'contacts', 'import', 'people.csv', '--dry-run', '--json'];
      const { encoding: found, sample } = JSON.parse(await output(runtime, args)) as Record<string, unknown>;
      expect([found, sample]).toEqual([encoding, [{ contact: { name: 'Zoë €', tags: ['a', 'b'] } }]]);
    }
  });
});

// If this machine cannot run a runtime, a skipped test names it.
for (const reason of missing) it.skip(reason, () => undefined);

it('the same program runs in a browser without a bundler', async () => {
  mkdirSync(join(folder, 'browser'), { recursive: true });
  writeFileSync(join(folder, 'program.ts'), browserProgram);
  compile([...browserOptions, '--outDir', 'browser']);
  const imports = { '@customer-platform/client': '/client/index.js' };
  const scripts = new Map(
    globSync('**/*.js', { cwd: installed, exclude: ['cli/**'] }).map((file) => [
      `/client/${file}`,
      join(installed, file),
    ]),
  ).set('/program.js', join(folder, 'browser/program.js'));
  server.received.length = 0;
  server.respond = (request, response) => {
    const script = scripts.get(request.path);
    if (request.path.startsWith('/v1/')) return respond(request, response);
    response.setHeader('content-type', script ? 'text/javascript' : 'text/html');
    return response.end(
      script ? readFileSync(script) : `<script type="importmap">${JSON.stringify({ imports })}</script>`,
    );
  };
  const browser = await startBrowser();
  try {
    const page = await browser.open(server.url);
    const lines: string[] = [];
    page.on('console', (message) => lines.push(message.text()));
    await page.evaluate("void import('/program.js').catch((error) => console.log(String(error)))");
    await waitFor('the lines of the program', () => lines.length >= printed.length, 30_000);
    expect(lines).toEqual(printed);
    expect(requests()).toEqual(requested);
  } finally {
    await browser.close();
  }
});

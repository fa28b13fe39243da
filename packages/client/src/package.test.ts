import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { type Receiver, startReceiver } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'client-package-'));
const installed = join(folder, 'node_modules/@customer-platform/client');

/** Other releases of Node that this machine has: the tests themselves run on the repository's. */
const others = ['/usr/bin/node', '/usr/local/bin/node'].filter(existsSync).map((program) => {
  return { program, version: execute(program, ['--version']).trim() };
});
const nodes = [{ program: process.execPath, version: process.version }, ...others].filter(({ version }, index, all) => {
  return Number(version.slice(1).split('.')[0]) >= 20 && all.findIndex((each) => each.version === version) === index;
});
/** Programs of this machine that run JavaScript, with the arguments before its own: Deno and Bun where they are on the PATH. */
const runtimes = [
  ...nodes.map(({ program, version }) => ({ name: `Node ${version}`, program, before: [] as string[] })),
  ...['deno', 'bun'].flatMap((name) => {
    const program = (process.env.PATH ?? '')
      .split(':')
      .map((directory) => join(directory, name))
      .find(existsSync);
    return program ? [{ name, program, before: ['run', ...(name === 'deno' ? ['--allow-all'] : [])] }] : [];
  }),
];

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

/** Returns what a program prints, while the server of this process responds to it. */
async function output(runtime: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(runtime, args, { env: { ...process.env, ...env }, timeout: 60_000 });
  return stdout;
}

/** A program of a customer, whose types hold and which runs. */
const program = `import {
  type Appointment, ConnectionError, createClient, eachOf, type Event, isPlatformError, type RequestError, signWebhook, verifyWebhook,
} from '@customer-platform/client';

const client = createClient({ baseUrl: process.argv[2]!, apiKey: 'cp_test_key', retries: 1, timeoutMs: 5_000 });

export async function book(contact: string): Promise<Appointment | undefined> {
  try {
    return await client.bookAppointment({ body: { contact, booking_type: 1, starts_at: '2026-11-20T09:00:00+01:00' } });
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
const incomplete = () => client.bookAppointment({ body: { contact: '', booking_type: 1 } });
// @ts-expect-error: there is no such status
const mistyped = () => client.listAppointments({ query: { status: 'booked' } });
export const streamed = async () => {
  for await (const event of client.events.stream({ types: ['order.*'], afterSequence: 41 })) {
    const sequence: number = event.sequence;
    return [told(event), sequence, incomplete, mistyped, ConnectionError];
  }
  return [];
};

const names: string[] = [];
for await (const contact of eachOf((page) => client.listContacts({ query: page }))) names.push(contact.name);
const body = JSON.stringify({ id: 'e1', type: 'contact.created', data: {} });
const secret = 'whsec_' + btoa('a secret of 32 characters, it is');
const event = await verifyWebhook(await signWebhook(body, secret, { id: 'e1' }), body, secret);
console.log(names.join(), event.type);
`;

function compile(options: string[]): string {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const strict = ['--strict', '--target', 'es2022', '--ignoreConfig', '--typeRoots', join(root, 'node_modules/@types')];
  return execute(process.execPath, [compiler, ...strict, ...options, 'program.ts'], folder);
}

describe('the package, installed in an empty folder', () => {
  it('has no dependencies, and holds nothing but what it needs', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: '@customer-platform/client', engines: { node: '>=20' } });
    expect(manifest.dependencies).toBeUndefined();
    expect(globSync('node_modules/*', { cwd: folder })).toEqual(['node_modules/@customer-platform']);
    const files = globSync('**/*.*', { cwd: installed }).filter((file) => !/\.(?:js|d\.ts)$/.test(file));
    expect(files.sort()).toEqual(['README.md', 'package.json']);
  });

  it('is at most 30 kB of JavaScript when compressed, without the command line', () => {
    const files = globSync('**/*.js', { cwd: installed, exclude: ['cli/**'] });
    const code = files.map((file) => readFileSync(join(installed, file), 'utf8')).join('');
    expect(code).toContain('bookAppointment');
    expect(gzipSync(code).length).toBeLessThanOrEqual(30_000);
  });

  it('imports nothing of Node outside the command line, so that browsers take it', () => {
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
    [
      'as bundlers resolve it, in a browser',
      ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom,dom.asynciterable'],
    ],
    ['with every optional property exact', ['--module', 'nodenext', '--types', 'node', '--exactOptionalPropertyTypes']],
  ])('has types that hold %s', (name, options) => {
    writeFileSync(
      join(folder, 'program.ts'),
      program.replace('process.argv[2]!', name.includes('browser') ? "''" : '$&'),
    );
    expect(() => compile(['--noEmit', ...options])).not.toThrow();
    writeFileSync(join(folder, 'program.ts'), program.replaceAll('// @ts-expect-error', '//'));
    expect(() => compile(['--noEmit', '--module', 'nodenext', '--types', 'node'])).toThrow(/starts_at/);
  });
});

describe.each(runtimes)('on $name', ({ program: runtime, before }) => {
  it('a program that imports it runs', async () => {
    server.received.length = 0;
    server.respond = (request, response) => {
      const isLast = request.path.includes('starting_after');
      const page = { data: [{ name: isLast ? 'Ben' : 'Ada' }], has_more: !isLast, next: isLast ? null : 'x' };
      response.end(JSON.stringify(page));
    };
    mkdirSync(join(folder, 'out'), { recursive: true });
    writeFileSync(join(folder, 'program.ts'), program);
    compile(['--module', 'nodenext', '--types', 'node', '--outDir', 'out']);
    expect(await output(runtime, [...before, join(folder, 'out/program.js'), server.url])).toBe(
      'Ada,Ben contact.created\n',
    );
    expect(server.received.map(({ path }) => path)).toEqual(['/v1/cdp/contacts', '/v1/cdp/contacts?starting_after=x']);
  });

  it('its command line runs', async () => {
    server.respond = (_request, response) => response.end('{"mode":"test"}');
    const cli = join(folder, 'node_modules/.bin/customer-platform');
    const env = { CUSTOMER_PLATFORM_URL: server.url, CUSTOMER_PLATFORM_KEY: 'cp_test_key' };
    expect(await output(runtime, [...before, cli, 'request', 'GET', '/v1/me', '--json'], env)).toBe(
      '{"mode":"test"}\n',
    );
  });
});

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Extractor } from './extractor.ts';

/** A program that runs its document as code under the process's limits. It is the worst case of a bug in a parser. */
const program = `
  import { serve } from ${JSON.stringify(new URL('./extract-child.ts', import.meta.url))};
  await serve(async (_question, bytes) => {
    const { default: run } = await import('data:text/javascript;base64,' + bytes.toString('base64'));
    return [{ heading_path: [], text: String(await run()) }];
  });`;
const root = fileURLToPath(new URL('../../../', import.meta.url));
const written = `${tmpdir()}/written-by-a-document-${process.pid}`;
const contacts: string[] = [];
const udp = createSocket('udp4').on('message', () => contacts.push('udp'));
const tcp = createServer((socket) => {
  contacts.push('tcp');
  socket.destroy();
});
let tcpPort: number;
let udpPort: number;
let extractor: Extractor;

beforeAll(async () => {
  tcp.listen(0, '127.0.0.1');
  udp.bind(0, '127.0.0.1');
  await Promise.all([once(tcp, 'listening'), once(udp, 'listening')]);
  tcpPort = (tcp.address() as AddressInfo).port;
  udpPort = udp.address().port;
  extractor = new Extractor({ program: ['--input-type=module', '--eval', program] });
});
afterEach(() => expect(contacts).toEqual([]));
afterAll(async () => {
  extractor.close();
  await Promise.all([new Promise((done) => tcp.close(done)), new Promise<void>((done) => udp.close(done))]);
});

/** Runs code in the process that reads documents, and returns its result. */
async function run(code: string): Promise<string> {
  const document = `export default async () => { ${code} }`;
  const [piece] = await extractor.read({ type: 'txt' }, () => [Buffer.from(document)]);
  return piece!.text;
}

/** Runs code that must be denied, and returns the error's code. */
const refusalOf = (code: string) =>
  run(
    `try { return 'done: ' + await (async () => { ${code} })(); } catch (error) { return error.code ?? error.name; }`,
  );

const denied = /^(ERR_ACCESS_DENIED|ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED|TypeError)$/;

describe('code that runs in the process that reads documents', () => {
  it('runs there', async () => {
    expect(await run('return 6 * 7;')).toBe('42');
    expect(await run('return JSON.stringify(process.env);')).toBe('{}');
  });

  it.each([
    '.platform/secrets.json',
    'package.json',
    'services/agents/src/main.ts',
    'packages/contracts/package.json',
    'node_modules/ai/package.json',
    'packages/documents/src/../../../package.json',
    '',
  ])('cannot read %j of the checkout', async (path) => {
    const file = JSON.stringify(root + path);
    for (const call of [
      'fs.readFileSync(file)',
      'fs.readFileSync(Buffer.from(file))',
      "fs.readFileSync(new URL('file://' + file))",
      'await fs.promises.readFile(file)',
      'fs.readdirSync(file)',
      'fs.statSync(file)',
      '(await fs.openAsBlob(file)).text()',
      'process.loadEnvFile(file)',
    ])
      expect(await refusalOf(`const [fs, file] = [await import('node:fs'), ${file}]; return ${call};`)).not.toMatch(
        /^done/,
      );
    expect(await refusalOf(`return (await import('node:fs')).readFileSync(${file});`)).toBe('ERR_ACCESS_DENIED');
  });

  it.each(['/etc/passwd', '/proc/self/environ', '/proc/1/environ', `/proc/${process.pid}/environ`, '/tmp', '/'])(
    'cannot read %s',
    async (path) => {
      for (const call of ['readFileSync', 'readdirSync', 'openSync', 'statSync'])
        expect(await refusalOf(`return (await import('node:fs')).${call}('${path}');`)).toBe('ERR_ACCESS_DENIED');
    },
  );

  it.each([
    `(await import('node:fs')).writeFileSync(${JSON.stringify(written)}, 'a')`,
    `(await import('node:fs')).symlinkSync('/etc/passwd', ${JSON.stringify(written)})`,
    `(await import('node:fs')).writeFileSync(${JSON.stringify(`${root}packages/documents/src/new.ts`)}, 'a')`,
    `new (await import('node:sqlite')).DatabaseSync(${JSON.stringify(written)})`,
    `(await import('node:trace_events')).createTracing({ categories: ['node'] }).enable()`,
    'process.report.writeReport()',
    "(await import('node:process')).report.writeReport()",
    // Node writes this report when the process runs out of memory, even without permission.
    "(process.getBuiltinModule('node:process').report.reportOnFatalError = true)",
    `(await import('node:v8')).writeHeapSnapshot(${JSON.stringify(written)})`,
    // Some V8 flags write to any path, even without permission from Node.
    `(await import('node:v8')).setFlagsFromString('--redirect-code-traces-to=${written}')`,
    `process.getBuiltinModule('v8').setFlagsFromString('--redirect-code-traces-to=${written}')`,
  ])('cannot write: %s', async (code) => {
    expect(await refusalOf(`return ${code};`)).toMatch(denied);
    expect(existsSync(written)).toBe(false);
  });

  it.each([
    "(await import('node:child_process')).spawnSync('true').error.code",
    "(await import('node:child_process')).execSync('true')",
    "(await import('node:child_process')).fork('/dev/null')",
    "process.execve('/bin/true')",
    "new (await import('node:worker_threads')).Worker('1', { eval: true })",
    "(await import('node:module')).register('data:text/javascript,')",
    "(await import('node:inspector')).open(0)",
    "new (await import('node:inspector')).Session().connect()",
    "process.binding('tcp_wrap')",
    "process._linkedBinding('tcp_wrap')",
    "process.dlopen({}, '/lib/x86_64-linux-gnu/libc.so.6')",
    `process.kill(${process.pid}, 'SIGUSR1')`,
    `process._debugProcess(${process.pid})`,
    `process._kill(${process.pid}, 10)`,
    "(await import('node:os')).setPriority(0)",
    "(await import('node:crypto')).setEngine('dynamic')",
  ])('cannot start or signal processes: %s', async (code) => {
    expect(await refusalOf(`return ${code};`)).toMatch(denied);
  });

  it('cannot open TCP connections in any way', async () => {
    const target = `{ port: ${tcpPort}, host: '127.0.0.1' }`;
    const url = `127.0.0.1:${tcpPort}/`;
    for (const code of [
      `(await import('node:net')).connect(${target})`,
      `new (await import('node:net')).Socket().connect(${target})`,
      `new (await import('node:net')).default.Stream().connect(${target})`,
      `process.getBuiltinModule('node:net').createConnection(${target})`,
      `(await import('node:module')).createRequire('/a.js')('net').connect(${target})`,
      `(await import('node:net')).createServer().listen(0)`,
      `(await import('node:tls')).connect(${target})`,
      `(await import('node:_tls_wrap')).connect(${target})`,
      `(await import('node:http')).get('http://${url}')`,
      `new (await import('node:_http_client')).ClientRequest('http://${url}')`,
      `new (await import('node:http')).ClientRequest('http://${url}')`,
      `(await import('node:http')).globalAgent.createConnection(${target})`,
      `(await import('node:https')).get('https://${url}')`,
      `(await import('node:https')).globalAgent.createConnection(${target})`,
      `(await import('node:http2')).connect('http://${url}')`,
      `await fetch('http://${url}')`,
      `new WebSocket('ws://${url}')`,
      `new EventSource('http://${url}')`,
      `process.stdout.constructor.prototype.connect.call({}, ${target})`,
      `process.stdin.constructor.prototype.connect.call({}, ${target})`,
      `new (await import('node:tty')).ReadStream(0).connect(${target})`,
      `(await import('node:net')).connect('/tmp/.s.PGSQL.5432')`,
    ])
      expect([code, await refusalOf(`return ${code};`)]).toEqual([code, expect.stringMatching(denied)]);
  });

  it('cannot use UDP or DNS', async () => {
    for (const code of [
      `(await import('node:dgram')).createSocket('udp4').send('a', ${udpPort}, '127.0.0.1')`,
      `new (await import('node:dgram')).Socket('udp4').send('a', ${udpPort}, '127.0.0.1')`,
      "(await import('node:dns')).lookup('localhost', () => {})",
      "await (await import('node:dns')).promises.lookup('localhost')",
      "await (await import('node:dns/promises')).resolve4('localhost')",
      "new (await import('node:dns')).Resolver().resolve4('localhost', () => {})",
      "await new (await import('node:dns/promises')).Resolver().resolve4('localhost')",
    ])
      expect([code, await refusalOf(`return ${code};`)]).toEqual([code, expect.stringMatching(denied)]);
  });

  it('cannot get a socket from the preparation of a process that may not be started', async () => {
    const cluster = `
      const { EventEmitter } = process.getBuiltinModule('events');
      let socket;
      const worker = Object.assign(new EventEmitter(), { send: (_message, handle) => (socket = handle) });
      process.getBuiltinModule('child_process').fork = () => worker;
      process.getBuiltinModule('cluster').fork();
      const query = { cmd: 'NODE_CLUSTER', act: 'queryServer', address: '127.0.0.1', port: 0, addressType: 'udp4' };
      worker.emit('internalMessage', { ...query, seq: 1, index: 0, data: null, flags: 0 });
      return socket.send({}, [Buffer.from('a')], 1, ${udpPort}, '127.0.0.1', false);`;
    expect(await refusalOf(cluster)).toMatch(denied);
    const spawn = `
      const spawned = { file: '/bin/true', args: [], stdio: ['pipe', 'pipe', 'ipc'], envPairs: [] };
      try { new (process.getBuiltinModule('child_process').ChildProcess)().spawn(spawned); } catch {}
      return spawned.stdio[0].handle.bind(${JSON.stringify(`${written}.socket`)});`;
    expect(await refusalOf(spawn)).toMatch(denied);
    expect(existsSync(`${written}.socket`)).toBe(false);
  });

  it('cannot get a socket from an inherited or native class', async () => {
    const path = JSON.stringify(`${written}.socket`);
    for (const code of [`bind(${path})`, 'listen(1)', `connect({}, ${path})`, 'open(1)'])
      expect([
        code,
        await refusalOf(`
          process.noDeprecation = true;
          const inherited = Object.getPrototypeOf(process.getBuiltinModule('_stream_wrap'));
          const socket = Reflect.construct(inherited, [{ fd: 1, readable: false, writable: false, manualStart: true }]);
          return new socket._handle.constructor(0).${code};`),
      ]).toEqual([code, expect.stringMatching(denied)]);
    expect(existsSync(`${written}.socket`)).toBe(false);
  });

  it('may emit warnings', async () => {
    expect(await run("process.emitWarning('careful'); return 'warned';")).toBe('warned');
  });

  it('remains locked down for the next document', async () => {
    await refusalOf(`
      const net = process.getBuiltinModule('net');
      delete net.connect; delete net.Socket;
      process.getBuiltinModule('module').syncBuiltinESMExports();`);
    const code = `return (await import('node:net')).connect({ port: ${tcpPort}, host: '127.0.0.1' });`;
    expect(await refusalOf(code)).toMatch(denied);
  });
});

it('every builtin module of this Node version has been reviewed', () => {
  expect(builtinModules.map((name) => name.replace(/^node:/, '')).sort()).toEqual(knownModules.sort());
});

/** Reviewed builtin modules. If a new one reaches the network, or files without a permission, close it in `lockdown.ts`. */
const knownModules =
  `_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _stream_duplex _stream_passthrough
  _stream_readable _stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap assert assert/strict async_hooks buffer
  child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs fs/promises http http2
  https inspector inspector/promises module net os path path/posix path/win32 perf_hooks process punycode querystring readline
  readline/promises repl sea sqlite stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters timers
  timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`.split(/\s+/);

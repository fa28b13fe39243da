import { createRequire, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { Readable, Writable } from 'node:stream';

/**
 * Closes what Node's permission model leaves open to the process that reads documents: sockets, DNS, databases (they open files that no
 * permission covers), V8's flags (some write files) and signals; also the methods of Node's native sockets, to which more than one way leads.
 * Imported first, so that no package keeps an original function. Files, processes, threads, addons and the inspector are closed by the
 * permissions that the process is started with.
 */

/** Builtin modules whose functions all throw. */
const closedModules = [
  'net',
  'tls',
  'http',
  'https',
  'http2',
  'dgram',
  'dns',
  'dns/promises',
  'inspector',
  'inspector/promises',
  '_http_agent',
  '_http_client',
  '_http_server',
  '_tls_common',
  '_tls_wrap',
  'child_process',
  'cluster',
  'sqlite',
  'trace_events',
  'v8',
];
const closedGlobals = ['fetch', 'WebSocket', 'EventSource'];
/** Functions of `process` that signal other processes (one signal opens an inspector there) or lead to native code. */
const closedOfProcess = [
  'kill',
  '_kill',
  '_debugProcess',
  '_debugEnd',
  'execve',
  'binding',
  '_linkedBinding',
  'dlopen',
  'openStdin',
];
/** Niceness: lower priority than the service, whose requests come first. */
const niceness = 5;

function refused(): never {
  throw Object.assign(new Error('A process that reads documents has no network'), { code: 'ERR_ACCESS_DENIED' });
}

/** Objects that open modules use too, and objects that are closed already. */
const shared = new Set<unknown>([Object, Function, Array, Error, Buffer].flatMap((one) => [one, one.prototype]));

/** Replaces the functions of an object, of their prototypes, and of the objects in it. */
function close(target: object): void {
  if (shared.has(target)) return;
  shared.add(target);
  for (const key of Reflect.ownKeys(target)) {
    const property = Object.getOwnPropertyDescriptor(target, key)!;
    const { value } = property;
    if (typeof value === 'function' && value.prototype instanceof Error) continue;
    if (typeof value === 'object' && value !== null) close(value);
    else if (typeof value === 'function' && typeof value.prototype === 'object') close(value.prototype);
    if (typeof value === 'object' || (typeof value !== 'function' && !property.get)) continue;
    if (property.configurable) Object.defineProperty(target, key, { value: refused, configurable: false });
    else if (property.writable) Reflect.set(target, key, refused);
  }
}

/** Returns what Node's sockets have from their native classes: whoever gets at a class can make one, whatever is closed beside it. */
function nativeSockets(require: NodeJS.Require): object[] {
  const { Socket } = require('node:net') as typeof import('node:net');
  const { createSocket } = require('node:dgram') as typeof import('node:dgram');
  // Neither reaches anybody: the name is never found, and nothing is below a file.
  const tcp = new Socket().connect({ host: 'never', port: 1, lookup: () => undefined });
  const pipe = new Socket().connect({ path: '/dev/null/never' });
  const udp = createSocket('udp4');
  const state = Object.getOwnPropertySymbols(udp).find(({ description }) => description === 'state symbol')!;
  const handles = [Reflect.get(tcp, '_handle'), Reflect.get(pipe, '_handle'), Reflect.get(udp, state).handle];
  const natives = handles.map((handle) => Object.getPrototypeOf(handle) as object);
  for (const socket of [tcp, pipe]) socket.destroy();
  udp.close();
  return natives;
}

function lockDown(): void {
  os.setPriority(niceness);
  const require = createRequire(import.meta.url);
  const modules = closedModules.map((name) => require(`node:${name}`) as object);
  for (const target of [...modules, ...nativeSockets(require)]) close(target);
  os.setPriority = refused;
  for (const name of closedGlobals) Object.defineProperty(globalThis, name, { value: refused, configurable: false });
  for (const name of closedOfProcess) Object.defineProperty(process, name, { value: refused, configurable: false });
  // Node's own asks what is closed in `v8`: a package that warns would break off its document.
  process.emitWarning = () => undefined;
  // Streams over pipes are sockets; the process itself reads and writes by file descriptor.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  for (const name of ['stdout', 'stderr'])
    Object.defineProperty(process, name, { value: nowhere, configurable: false });
  // Of a process that runs out of memory it writes a report to any file, over what is there.
  Object.defineProperty(process, 'report', { value: undefined, configurable: false });
  Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: false });
  syncBuiltinESMExports();
}

lockDown();

import { createRequire, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { Readable, Writable } from 'node:stream';

/**
 * Closes access that Node's permission model does not restrict. That is sockets, DNS, signals, databases (they open files without a
 * permission) and V8 flags (some write files). It also closes the methods of Node's native sockets, which code can reach in several ways.
 * It must be imported first, so that no package keeps an original function.
 * The permissions at process start close files, processes, threads, addons and the inspector.
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
/** Functions of `process` that reach native code or signal other processes. SIGUSR1 opens an inspector in the other process. */
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
/** Nice value: parsing has a lower CPU priority than the service's requests. */
const niceness = 5;

function refused(): never {
  throw Object.assign(new Error('A process that reads documents has no network'), { code: 'ERR_ACCESS_DENIED' });
}

/** Objects to skip: those that open modules also use, and those that are already closed. */
const shared = new Set<unknown>([Object, Function, Array, Error, Buffer].flatMap((one) => [one, one.prototype]));

/** Replaces every function of an object, of the objects in it, and of its classes' prototypes with `refused`. */
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

/** Returns the prototypes of Node's native socket classes. Code that reaches such a class can create a socket despite the closed modules. */
function nativeSockets(require: NodeJS.Require): object[] {
  const { Socket } = require('node:net') as typeof import('node:net');
  const { createSocket } = require('node:dgram') as typeof import('node:dgram');
  // Neither connects: the lookup never calls back, and /dev/null is not a folder.
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
  // Node's `emitWarning` calls the closed `v8` module, so a warning from a package would fail the document.
  process.emitWarning = () => undefined;
  // Standard streams over pipes are sockets. `extract-child.ts` reads and writes by file descriptor instead.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  for (const name of ['stdout', 'stderr'])
    Object.defineProperty(process, name, { value: nowhere, configurable: false });
  // When the process runs out of memory, `report` can overwrite any file.
  Object.defineProperty(process, 'report', { value: undefined, configurable: false });
  Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: false });
  syncBuiltinESMExports();
}

lockDown();

import { createRequire, syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { Readable, Writable } from 'node:stream';

/**
 * Closes what Node's permission model leaves open to the process that reads documents: sockets, DNS, databases (they open files that no
 * permission covers), V8's flags (some write files) and signals. Imported first, so that no package keeps an original function. Files,
 * processes, threads, addons and the inspector are closed by the permissions that the process is started with.
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

function lockDown(): void {
  os.setPriority(niceness);
  const require = createRequire(import.meta.url);
  for (const module of closedModules.map((name) => require(`node:${name}`) as object)) close(module);
  os.setPriority = refused;
  for (const name of closedGlobals) Object.defineProperty(globalThis, name, { value: refused, configurable: false });
  for (const name of closedOfProcess) Object.defineProperty(process, name, { value: refused, configurable: false });
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

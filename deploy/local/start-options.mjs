// @ts-check
// Plain JavaScript for Node.js 20 or later, because `npm start` reads its arguments before it installs anything.
import { parseArgs } from 'node:util';

/**
 * Options of a start, from the command line and the environment.
 * @typedef {object} Options
 * @property {boolean} fresh discard all data first
 * @property {boolean} demo create a demo account
 * @property {boolean} jsonLogs show log lines as JSON
 * @property {number} gatewayPort
 * @property {number} adminPort
 */

/** Invalid arguments or settings. Nothing was started, and the exit code is 2. */
export class UsageError extends Error {}

const flags = {
  fresh: 'discard all data first',
  'no-demo': 'create no demo account',
  'json-logs': 'show log lines as JSON',
  help: 'print this help and exit',
};

const ports = { GATEWAY_PORT: 8080, ADMIN_PORT: 8081 };

const settings = [
  ['GATEWAY_PORT', String(ports.GATEWAY_PORT), 'port of the API and its documentation'],
  ['ADMIN_PORT', String(ports.ADMIN_PORT), "port of the control plane and the operators' console"],
  ['DATABASE_URL', 'starts a server', 'PostgreSQL 18; the user must be allowed to create roles'],
  ['NATS_URL', 'starts a server', 'NATS with JetStream'],
  ['REDIS_URL', 'starts a server', 'Redis or a compatible server'],
  ['BUS_PREFIX', 'platform', 'separates installations on one NATS'],
  ['LOG_LEVEL', 'warn', 'lowest level that is logged: debug, info, warn, error'],
  ['WEBHOOKS_ALLOWED_RANGES', '127.0.0.0/8,::1/128', 'private ranges that webhooks may be sent to'],
  ['WEBHOOKS_RETRY_SCHEDULE', '0,5s,5m,…', 'delays between the attempts of a delivery'],
];

/**
 * Returns the options of a start, or 'help'. Throws UsageError when a flag is unknown or a port is invalid.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Options | 'help'}
 */
export function readOptions(args, env) {
  const values = parsed(args);
  if (values.help) return 'help';
  const [gatewayPort, adminPort] = [readPort(env, 'GATEWAY_PORT'), readPort(env, 'ADMIN_PORT')];
  if (gatewayPort === adminPort)
    throw new UsageError(`GATEWAY_PORT and ADMIN_PORT are both ${adminPort}: they must differ`);
  return {
    fresh: values.fresh ?? false,
    demo: !values['no-demo'],
    jsonLogs: values['json-logs'] ?? false,
    gatewayPort,
    adminPort,
  };
}

/** Returns the usage of `npm start`: its flags, and the most important settings with their defaults. */
export function usage() {
  return [
    'npm start [-- --flag …]',
    '',
    'Starts the platform on this machine: PostgreSQL, NATS, Redis, the gateway and every service, each as its own process.',
    "Data, server logs, secrets and the demo account's keys are in .platform/. Press Ctrl-C to stop.",
    '',
    'Flags:',
    ...Object.entries(flags).map(([name, meaning]) => `  ${`--${name}`.padEnd(24)} ${meaning}`),
    '',
    'Settings, from the environment:',
    ...settings.map(([name, value, meaning]) => `  ${name?.padEnd(24)} ${value?.padEnd(20)} ${meaning}`),
    '',
    'npm run doctor checks whether this machine can run the platform. docs/reference/config.md lists all settings.',
    'Exit codes: 0 stopped, 1 could not start, 2 invalid arguments or settings.',
  ].join('\n');
}

/** @param {string[]} args */
function parsed(args) {
  const boolean = /** @type {const} */ ({ type: 'boolean' });
  const options = { fresh: boolean, 'no-demo': boolean, 'json-logs': boolean };
  try {
    return parseArgs({ args, options: { ...options, help: { ...boolean, short: 'h' } } }).values;
  } catch (cause) {
    const known = Object.entries(flags).map(([name, meaning]) => `--${name} (${meaning})`);
    const message = `"${args.join(' ')}" contains an unknown flag; the flags are ${known.join(', ')}`;
    throw new UsageError(message, { cause });
  }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {keyof typeof ports} variable
 */
function readPort(env, variable) {
  const text = String(env[variable] || ports[variable]);
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new UsageError(`${variable} is "${env[variable]}": it must be a port from 1 to 65535`);
}

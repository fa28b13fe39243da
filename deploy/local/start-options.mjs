// @ts-check
// Plain JavaScript for any Node.js from 20 on: `npm start` reads its arguments before it installs anything.
import { parseArgs } from 'node:util';

/**
 * Options of a start, from the command line and the environment.
 * @typedef {object} Options
 * @property {boolean} fresh begin with empty data
 * @property {boolean} demo make a demo account
 * @property {boolean} jsonLogs show the lines that processes log as they are
 * @property {number} gatewayPort
 * @property {number} adminPort
 */

/** Wrong usage: nothing was started, and the exit code is 2. */
export class UsageError extends Error {}

const flags = {
  fresh: 'begin with empty data',
  'no-demo': 'make no demo account',
  'json-logs': 'show the lines that processes log as they are',
  help: 'print this and start nothing',
};

const ports = { GATEWAY_PORT: 8080, ADMIN_PORT: 8081 };

const settings = [
  ['GATEWAY_PORT', String(ports.GATEWAY_PORT), 'port of the API and its documentation'],
  ['ADMIN_PORT', String(ports.ADMIN_PORT), "port of the control plane and the operators' console"],
  ['DATABASE_URL', 'its own server', 'PostgreSQL 18; its user may create roles'],
  ['NATS_URL', 'its own server', 'NATS with JetStream'],
  ['REDIS_URL', 'its own server', 'Redis, or what speaks its protocol'],
  ['BUS_PREFIX', 'platform', 'separates installations on one NATS'],
  ['LOG_LEVEL', 'warn', 'least severe level that processes log: debug, info, warn, error'],
  ['WEBHOOKS_ALLOWED_RANGES', '127.0.0.0/8,::1/128', 'private ranges that webhooks may be sent to'],
  ['WEBHOOKS_RETRY_SCHEDULE', '0,5s,5m,…', 'times between the tries of a delivery'],
];

/**
 * Returns what a start is asked for, or 'help'. Throws UsageError where a flag is unknown or a port is none.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Options | 'help'}
 */
export function readOptions(args, env) {
  const values = parsed(args);
  if (values.help) return 'help';
  const [gatewayPort, adminPort] = [readPort(env, 'GATEWAY_PORT'), readPort(env, 'ADMIN_PORT')];
  if (gatewayPort === adminPort)
    throw new UsageError(`GATEWAY_PORT and ADMIN_PORT are both ${adminPort}: each needs its own`);
  return {
    fresh: values.fresh ?? false,
    demo: !values['no-demo'],
    jsonLogs: values['json-logs'] ?? false,
    gatewayPort,
    adminPort,
  };
}

/** Returns the usage of `npm start`: its flags, and the settings that matter with their defaults. */
export function usage() {
  return [
    'npm start [-- --flag …]',
    '',
    'Starts the platform on this machine: PostgreSQL, NATS, Redis, the gateway and every service, each as a process of its own.',
    'Data, logs of the servers, secrets and the keys of the demo account are in .platform/. Press Ctrl-C to stop.',
    '',
    'Flags:',
    ...Object.entries(flags).map(([name, meaning]) => `  ${`--${name}`.padEnd(24)} ${meaning}`),
    '',
    'Settings, from the environment:',
    ...settings.map(([name, value, meaning]) => `  ${name?.padEnd(24)} ${value?.padEnd(20)} ${meaning}`),
    '',
    'npm run doctor checks whether this machine can run it. All settings of all processes: docs/reference/config.md.',
    'Exit codes: 0 stopped, 1 could not start, 2 used wrongly.',
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
    const message = `"${args.join(' ')}" is not understood; the flags are ${known.join(', ')}`;
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

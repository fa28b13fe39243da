import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Command, commands, flagName, flagValue } from './cli/commands.ts';
import { show, usage } from './cli/show.ts';

/** Result of a run of the tool; the exit code is 0 for done, 1 for refused or unreachable, 2 for wrong usage. */
export interface Outcome {
  exitCode: 0 | 1 | 2;
  output: string;
}

const timeoutMs = 15_000;

/** Runs one command of the control plane's tool. `platformDirectory` is where a local start keeps its secrets. */
export async function runCommand(args: string[], env: NodeJS.ProcessEnv, platformDirectory: string): Promise<Outcome> {
  const command = commands.find(({ noun, verb }) => noun === args[0] && verb === args[1]);
  if (!command) {
    const isAsked = args.includes('--help') || args[0] === 'help';
    const unknown = isAsked || args.length === 0 ? '' : `there is no command "${args.slice(0, 2).join(' ')}"\n\n`;
    return { exitCode: isAsked ? 0 : 2, output: unknown + usage() };
  }
  if (args.includes('--help')) return { exitCode: 0, output: usage(command) };
  let request: ReturnType<typeof readArguments>;
  try {
    request = readArguments(command, args.slice(2));
  } catch (error) {
    return { exitCode: 2, output: `${(error as Error).message}\n\n${usage(command)}` };
  }
  try {
    const response = await send(command, request, endpointOf(env, platformDirectory));
    if (response.status >= 400) return { exitCode: 1, output: request.isJson ? response.text : refusal(response) };
    const body = response.text === '' ? undefined : (JSON.parse(response.text) as unknown);
    return { exitCode: 0, output: request.isJson ? response.text || '{}' : show(body) };
  } catch (error) {
    return { exitCode: 1, output: (error as Error).message };
  }
}

function readArguments(command: Command, args: string[]) {
  const flags = Object.fromEntries(command.flags.map((flag) => [flagName(flag.field), flag]));
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: 'string', multiple: true } as const]),
  );
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...options, json: { type: 'boolean' } },
  });
  const { parameters, operation } = command;
  if (positionals.length !== parameters.length) {
    throw new Error(
      `${command.noun} ${command.verb} takes ${parameters.map((name) => `<${name}>`).join(' ') || 'flags only'}`,
    );
  }
  const fields: Record<string, unknown> = {};
  for (const [name, texts] of Object.entries(values)) {
    const flag = flags[name];
    if (flag && Array.isArray(texts)) fields[flag.field] = flagValue(flag, texts as string[]);
  }
  const missing = command.flags.filter((flag) => flag.isRequired && !(flag.field in fields));
  if (missing.length > 0) throw new Error(`missing: ${missing.map((flag) => `--${flagName(flag.field)}`).join(', ')}`);
  let index = 0;
  const path = operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(positionals[index++]!));
  return { path, fields, isJson: values.json === true };
}

/**
 * Returns the control plane's address and token: from the environment, else from a local start. `source` is that of the
 * URL: a start without demo data leaves the address of an earlier one.
 */
function endpointOf(env: NodeJS.ProcessEnv, directory: string) {
  const demoFile = join(directory, 'demo.json');
  const demo = readJson(demoFile);
  const secrets = readJson(join(directory, 'secrets.json'));
  const token = env.ADMIN_TOKEN || secrets.ADMIN_TOKEN || demo.admin_token;
  if (!token) throw new Error('ADMIN_TOKEN must be set, or the platform be started here with npm start');
  if (env.ADMIN_URL) return { url: env.ADMIN_URL, token, source: 'ADMIN_URL' };
  if (env.ADMIN_PORT) return { url: `http://127.0.0.1:${env.ADMIN_PORT}`, token, source: 'ADMIN_PORT' };
  if (demo.admin) return { url: demo.admin, token, source: demoFile };
  return { url: 'http://127.0.0.1:8081', token, source: 'the default' };
}

function readJson(file: string): Record<string, string | undefined> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

async function send(
  { operation }: Command,
  { path, fields }: ReturnType<typeof readArguments>,
  { url, token, source }: ReturnType<typeof endpointOf>,
) {
  const isRead = operation.method === 'GET';
  const query = new URLSearchParams(isRead ? (fields as Record<string, string>) : {}).toString();
  const target = `${url.replace(/\/$/, '')}${path}${query === '' ? '' : `?${query}`}`;
  const response = await fetch(target, {
    method: operation.method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(operation.body ? { body: JSON.stringify(fields) } : {}),
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((cause: unknown) => {
    const tried = `the control plane at ${url} (from ${source}) does not respond`;
    throw new Error(`${tried}; start the platform, or set ADMIN_URL or ADMIN_PORT to its address`, { cause });
  });
  return { status: response.status, text: await response.text() };
}

function refusal({ status, text }: { status: number; text: string }): string {
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return `refused (${status} ${code}): ${message}`;
  } catch {
    return `refused (${status}): ${text.slice(0, 500)}`;
  }
}

if (import.meta.main) {
  const platformDirectory = resolve(import.meta.dirname, '../../.platform');
  const { exitCode, output } = await runCommand(process.argv.slice(2), process.env, platformDirectory);
  const isForMachines = process.argv.includes('--json') && exitCode !== 2;
  (exitCode === 0 || isForMachines ? process.stdout : process.stderr).write(`${output}\n`);
  process.exitCode = exitCode;
}

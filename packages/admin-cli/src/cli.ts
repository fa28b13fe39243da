import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type CommandRequest, readArguments } from './arguments.ts';
import { check, drawCheck } from './check.ts';
import { checkCommand, findCommands, topCommand } from './commands.ts';
import {
  type ControlPlane,
  failureOf,
  findControlPlane,
  type Refusal,
  readResponse,
  send,
} from './control-plane-client.ts';
import { show } from './show.ts';
import { jsonLine, printable } from './text.ts';
import { printTop, showTop, type Terminal } from './top.ts';
import { checkUsage, commandUsage, topUsage, usage } from './usage.ts';

/** Result of a run of the tool; the exit code is 0 for done, 1 for refused or unreachable, 2 for wrong usage. */
export interface Outcome {
  exitCode: 0 | 1 | 2;
  output: string;
}

const timeoutMs = 15_000;
/** Tables fit a terminal of this width, also where there is none or it is narrower. */
const leastColumns = 80;

/**
 * Runs one command of the control plane's tool. `platformDirectory` is where a local start keeps its secrets. The
 * terminal gives tables their width; only the live view writes to it.
 */
export async function runCommand(
  args: string[],
  env: NodeJS.ProcessEnv,
  platformDirectory: string,
  terminal?: Terminal,
): Promise<Outcome> {
  if (args[0] === topCommand.name) return await runTop(args.slice(1), env, platformDirectory, terminal);
  const columns = Math.max(terminal?.output.columns || Number(env.COLUMNS) || leastColumns, leastColumns);
  if (args[0] === checkCommand.name) return await runCheck(args.slice(1), env, platformDirectory, columns);
  const { found, rest } = findCommands(args);
  if (found.length === 0) {
    const isAsked = args.includes('--help') || args[0] === 'help';
    const unknown = isAsked || args.length === 0 ? '' : `there is no command "${args.slice(0, 2).join(' ')}"\n\n`;
    return { exitCode: isAsked ? 0 : 2, output: unknown + usage() };
  }
  if (args.includes('--help')) return { exitCode: 0, output: commandUsage(found) };
  let request: CommandRequest;
  try {
    request = readArguments(found, rest);
  } catch (error) {
    return { exitCode: 2, output: `${(error as Error).message}\n\n${commandUsage(found)}` };
  }
  try {
    return await perform(request, findControlPlane(env, platformDirectory), columns);
  } catch (error) {
    const { message } = error as Error;
    return { exitCode: 1, output: request.isJson ? envelope(failureOf(error)) : message };
  }
}

async function perform(
  { command: { operation }, path, fields, isJson }: CommandRequest,
  plane: ControlPlane,
  columns: number,
): Promise<Outcome> {
  const received = await send(plane, operation, { path, fields }, AbortSignal.timeout(timeoutMs));
  const outcome = readResponse(received);
  if ('refusal' in outcome) {
    const { code, message } = outcome.refusal;
    const text = `refused (${received.status} ${code}): ${printable(message)}`;
    return { exitCode: 1, output: isJson ? envelope(outcome.refusal) : text };
  }
  if (isJson) return { exitCode: 0, output: received.text === '' ? '{}' : jsonLine(outcome.body) };
  return { exitCode: 0, output: show(operation.key, outcome.body, { columns, now: received.now }) };
}

function envelope(error: Refusal): string {
  return jsonLine({ error });
}

async function runCheck(
  args: string[],
  env: NodeJS.ProcessEnv,
  platformDirectory: string,
  columns: number,
): Promise<Outcome> {
  if (args.includes('--help')) return { exitCode: 0, output: checkUsage() };
  let flags: { account?: string; json?: boolean };
  try {
    flags = parseArgs({ args, options: { account: { type: 'string' }, json: { type: 'boolean' } } }).values;
  } catch (error) {
    return { exitCode: 2, output: `${(error as Error).message}\n\n${checkUsage()}` };
  }
  try {
    const rows = await check(findControlPlane(env, platformDirectory), flags.account);
    const exitCode = rows.some(({ verdict }) => verdict === 'unknown') ? 1 : 0;
    return { exitCode, output: flags.json ? jsonLine({ rows }) : drawCheck(rows, columns).join('\n') };
  } catch (error) {
    return { exitCode: 1, output: flags.json ? envelope(failureOf(error)) : (error as Error).message };
  }
}

async function runTop(
  args: string[],
  env: NodeJS.ProcessEnv,
  platformDirectory: string,
  terminal: Terminal | undefined,
): Promise<Outcome> {
  if (args.includes('--help')) return { exitCode: 0, output: topUsage() };
  const isJson = args.includes('--json');
  const unknown = args.find((each) => each !== '--json');
  if (unknown !== undefined) return { exitCode: 2, output: `top takes no "${unknown}"\n\n${topUsage()}` };
  if (!terminal || (!isJson && !(terminal.input.isTTY && terminal.output.isTTY))) {
    return { exitCode: 2, output: `top needs a terminal, or --json\n\n${topUsage()}` };
  }
  try {
    const plane = findControlPlane(env, platformDirectory);
    await (isJson ? printTop(plane, terminal.output) : showTop(plane, terminal));
    return { exitCode: 0, output: '' };
  } catch (error) {
    return { exitCode: 1, output: isJson ? envelope(failureOf(error)) : (error as Error).message };
  }
}

if (import.meta.main) {
  const platformDirectory = resolve(import.meta.dirname, '../../../.platform');
  const args = process.argv.slice(2);
  const terminal = { input: process.stdin, output: process.stdout };
  const { exitCode, output } = await runCommand(args, process.env, platformDirectory, terminal);
  const isForMachines = args.includes('--json') && exitCode !== 2;
  if (output !== '') (exitCode === 0 || isForMachines ? process.stdout : process.stderr).write(`${output}\n`);
  process.exitCode = exitCode;
}

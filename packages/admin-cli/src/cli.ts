import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { adminOperations, type QueuePause } from '@customer-platform/contracts/accounts';
import { type CommandRequest, readArguments } from './arguments.ts';
import { check, drawCheck } from './check.ts';
import { pauseText } from './columns.ts';
import { checkCommand, commandUsage, findCommands, suggest, topCommand, usage } from './commands.ts';
import {
  type Body,
  type ControlPlane,
  findControlPlane,
  type OperationKey,
  refusalOf,
  send,
} from './control-plane-client.ts';
import { show } from './show.ts';
import { jsonLine, printable } from './text.ts';
import { runTop, type Terminal } from './top.ts';

/** The result of a command. The exit code is 0 for success, 1 for an error response or no response, 2 for wrong usage. */
export interface Outcome {
  exitCode: 0 | 1 | 2;
  output: string;
}

const timeoutMs = 15_000;
/** Width of tables without a terminal, and the smallest width of tables in a terminal. */
const leastColumns = 80;

/**
 * Runs one command. `platformDirectory` is where `npm start` stores its secrets and addresses. The terminal sets the
 * width of tables. Only the live view writes to it.
 */
export async function runCommand(
  args: string[],
  env: NodeJS.ProcessEnv,
  platformDirectory: string,
  terminal?: Terminal,
): Promise<Outcome> {
  const { found, rest } = findCommands(args);
  if (found.length === 0) {
    const isAsked = args.includes('--help') || args[0] === 'help';
    if (isAsked || args.length === 0) return { exitCode: isAsked ? 0 : 2, output: usage() };
    return { exitCode: 2, output: suggest(args.map(printable)) };
  }
  if (args.includes('--help')) return { exitCode: 0, output: commandUsage(found) };
  let request: CommandRequest;
  try {
    request = readArguments(found, rest);
    const canDraw = terminal && (request.isJson || (terminal.input.isTTY && terminal.output.isTTY));
    if (request.command === topCommand && !canDraw) throw new Error('top needs a terminal, or --json');
  } catch (error) {
    return { exitCode: 2, output: `${(error as Error).message}\n\n${commandUsage(found)}` };
  }
  const columns = Math.max(terminal?.output.columns || Number(env.COLUMNS) || leastColumns, leastColumns);
  try {
    const plane = findControlPlane(env, platformDirectory);
    if (request.command !== topCommand) return await perform(request, plane, columns, terminal?.output);
    await runTop(plane, terminal!, request.isJson);
    return { exitCode: 0, output: '' };
  } catch (error) {
    return { exitCode: 1, output: request.isJson ? jsonLine({ error: refusalOf(error) }) : (error as Error).message };
  }
}

async function perform(
  { command, path, fields, isJson }: CommandRequest,
  plane: ControlPlane,
  columns: number,
  stream?: Writable,
): Promise<Outcome> {
  if (command === checkCommand) {
    const rows = await check(plane, fields.account as string | undefined);
    const exitCode = rows.some(({ verdict }) => verdict === 'unknown') ? 1 : 0;
    return { exitCode, output: isJson ? jsonLine({ rows }) : drawCheck(rows, columns, stream) };
  }
  const operation = { ...command.operation!, path };
  const signal = AbortSignal.timeout(timeoutMs);
  const isResume = operation.key === 'resumeQueue' && !isJson;
  const nothing = isResume ? await nothingToResume(plane, path, fields, signal) : undefined;
  const answer = await send(plane, operation, fields, signal);
  const shown = nothing ?? show(operation.key as OperationKey, answer, columns);
  return { exitCode: 0, output: isJson ? jsonLine(answer.body ?? {}) : shown };
}

/**
 * Returns a message with the existing pauses if a resume would lift none; undefined if it lifts a pause of exactly this account and endpoint.
 * The control plane responds with success either way.
 */
async function nothingToResume(
  plane: ControlPlane,
  resumePath: string,
  { account = null, endpoint = null }: Partial<Pick<QueuePause, 'account' | 'endpoint'>>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const path = resumePath.replace(/\/resume$/, '');
  const { body, now } = await send(plane, { ...adminOperations.getQueue, path }, {}, signal);
  const { pauses } = body as Body<'getQueue'>;
  if (pauses.some((pause) => pause.account === account && pause.endpoint === endpoint)) return undefined;
  const others = pauses.map((pause) => `paused: ${printable(pauseText(pause, now))}`);
  return ['nothing to resume: no pause matches exactly', ...others].join('\n');
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

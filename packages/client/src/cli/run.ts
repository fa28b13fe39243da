import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { isPlatformError, isRequestError } from '../errors.ts';
import { send } from '../requests/send.ts';
import type { Command, CommandCall, Terminal } from './command.ts';
import { commands, findCommand } from './commands/index.ts';
import { FileError, SetupError, UsageError } from './errors.ts';
import { nearest } from './nearest.ts';
import { findCredentials, openSettings } from './settings.ts';
import { jsonLine, printable } from './text.ts';
import { commandUsage, groupUsage, helpHint, helpOption, jsonOption, usage } from './usage.ts';

/** The process that the tool runs in. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  input: NodeJS.ReadStream;
  /** Writes to the standard output and the standard error. */
  print(line: string): void;
  note(line: string): void;
  /** Writes a string to the standard output. Resolves when it is flushed. */
  write(text: string): Promise<void>;
  /** The terminal of the standard error; undefined if it is not a terminal. */
  terminal: Terminal | undefined;
  /** Aborts when the user ends the tool. */
  signal: AbortSignal;
}

/**
 * Runs one command and returns the exit code. 0: success, or the user ended a command that runs forever. 1: an error response, no response
 * or incomplete work. 2: wrong usage.
 */
export async function run(args: readonly string[], surroundings: Surroundings): Promise<0 | 1 | 2> {
  const { print, note, signal } = surroundings;
  const found = findCommand(args);
  if (!found) return runNone(args, surroundings);
  let exitCode: 0 | 1 = 0;
  const setIncomplete = () => {
    exitCode = 1;
  };
  try {
    const call = readCall(found.command, found.rest, surroundings, setIncomplete);
    if (call) await found.command.run(call);
    else print(commandUsage(found.command));
    return exitCode;
  } catch (error) {
    if (signal.aborted) return found.command.hasEnd ? 1 : 0;
    if (error instanceof UsageError) {
      // The message may quote a file's columns, which may contain control characters.
      for (const line of error.message.split('\n')) note(printable(line));
      note(helpHint(found.command));
      return 2;
    }
    if (args.includes('--json')) print(jsonLine({ error: envelopeOf(error) }));
    else note(sentenceOf(error));
    return 1;
  }
}

/** Handles arguments that name no command: help, the version, or only the first word of some commands. */
function runNone(args: readonly string[], { print, note }: Surroundings): 0 | 2 {
  const [first = '', second = ''] = args;
  if (['--version', '-v', 'version'].includes(first)) {
    print(version());
    return 0;
  }
  if (first === 'help' || args.includes('--help') || args.includes('-h')) {
    print(usage(commands));
    return 0;
  }
  const begun = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (begun.length > 0 && !isWord(second)) note(groupUsage(first, begun));
  else if (first === '') note(usage(commands));
  else note(`${unknownCommand(args)}\n\n${usage(commands)}`);
  return 2;
}

/** Returns the error for an unknown command, with the most similar one. */
function unknownCommand(args: readonly string[]): string {
  const words = args.slice(0, 2).filter(isWord).join(' ');
  const groups = commands.map(({ name }) => name.split(' ')[0]!);
  const names = commands.map(({ name }) => name);
  const near = nearest(words, names) ?? nearest(words.split(' ')[0]!, [...names, ...groups]);
  return `There is no command ${JSON.stringify(words)}${near ? `; did you mean ${near}?` : ''}`;
}

/** Returns whether an argument is a word, not a flag. */
function isWord(argument: string): boolean {
  return argument !== '' && !argument.startsWith('-');
}

/** Returns the package's version. */
function version(): string {
  const require = createRequire(import.meta.url);
  return (require('@customer-platform/client/package.json') as { version: string }).version;
}

type FlagValues = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** Parses the arguments of a command; returns undefined if they ask for help. Throws UsageError. */
function readCall(
  command: Command,
  args: string[],
  surroundings: Surroundings,
  setIncomplete: () => void,
): CommandCall | undefined {
  const { values, positionals } = parsed(command, args);
  if (values.help) return undefined;
  const [least, most] = command.arity;
  if (positionals.length < least || positionals.length > most) {
    const given = positionals.length > 0 ? `, not ${JSON.stringify(positionals.join(' '))}` : '';
    throw new UsageError(`${command.name} takes ${command.parameters || 'no arguments'}${given}`);
  }
  refuseOthers(command.choices, command.parameters, positionals.slice(0, 1));
  for (const { name, value, choices, isRequired } of command.options) {
    if (isRequired && values[name] === undefined) throw new UsageError(`${command.name} needs --${name} <${value}>`);
    refuseOthers(choices, `--${name}`, [values[name] ?? []].flat());
  }
  const settings = openSettings(surroundings.env);
  const credentials = () => findCredentials(surroundings.env, settings);
  const clientOptions = async () => {
    const { url, key } = await credentials();
    return { baseUrl: url, apiKey: key };
  };
  const isJson = values.json === true;
  const valuesOf = (name: string) => [values[name] ?? []].flat().map(String);
  return {
    ...surroundings,
    note: isJson ? () => undefined : surroundings.note,
    terminal: isJson ? undefined : surroundings.terminal,
    positionals,
    values: valuesOf,
    value: (name) => valuesOf(name).at(-1),
    isSet: (name) => values[name] !== undefined,
    isJson,
    setIncomplete,
    settings,
    credentials,
    clientOptions,
    async send<Response>(...[line, parts]: Parameters<CommandCall['send']>) {
      const { data } = await send(await clientOptions(), line, { ...parts, signal: surroundings.signal });
      return data as Response;
    },
  };
}

function refuseOthers(choices: readonly string[] | undefined, name: string, given: readonly unknown[]): void {
  const other = given.find((each) => choices?.includes(String(each)) === false);
  if (other !== undefined) throw new UsageError(`${name} must be ${choices!.join(', ')}, not ${JSON.stringify(other)}`);
}

function parsed(command: Command, args: readonly string[]): { values: FlagValues; positionals: string[] } {
  const options = [...command.options, jsonOption, helpOption];
  const flags = options.map(({ name, short, value }) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const);
    return [name, { type, multiple: type === 'string', ...(short ? { short } : {}) }] as const;
  });
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries(flags),
    });
  } catch (error) {
    const unknown = /^Unknown option '(-[^']+)'/.exec((error as Error).message)?.[1];
    if (unknown === undefined) throw new UsageError((error as Error).message);
    const known = options.map(({ name }) => `--${name}`);
    throw new UsageError(`There is no flag ${unknown}; the flags are ${known.join(', ')}`);
  }
}

function envelopeOf(error: unknown): { code: string; message: string; field?: string | undefined } {
  const { message } = error as Error;
  if (isPlatformError(error)) return { code: error.code, message, field: error.field };
  if (isRequestError(error)) return { code: error.code, message };
  if (error instanceof FileError) return { code: 'invalid_file', message };
  return { code: error instanceof SetupError ? 'not_set_up' : 'failed', message };
}

function sentenceOf(error: unknown): string {
  const message = printable((error as Error).message);
  if (!isPlatformError(error)) return isRequestError(error) ? `${message}; is the platform running there?` : message;
  const quoted = error.code === 'internal_error' && error.requestId ? ` (request ${printable(error.requestId)})` : '';
  return `refused (${error.status} ${printable(error.code)}): ${message}${quoted}`;
}

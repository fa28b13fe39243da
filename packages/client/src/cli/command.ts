import type { ClientOptions, RequestLine, RequestParts } from '../requests/send.ts';
import { UsageError } from './errors.ts';
import type { Credentials, Settings } from './settings.ts';

/** A command. */
export interface Command {
  /** One or two words: `events tail`. */
  name: string;
  /** Its arguments as the usage shows them, such as `<method> <path>`; empty if it has none. */
  parameters: string;
  /** Smallest and largest number of arguments. */
  arity: readonly [number, number];
  /** The allowed values of the first argument, if it is an enum. */
  choices?: readonly string[];
  summary: string;
  /** What a user needs to know beyond the summary. */
  description?: string;
  options: readonly Option[];
  /** Examples without the tool's name: `events tail --events 'order.*'`. */
  examples: readonly string[];
  /** The command finishes by itself, so an interrupt means exit code 1. Commands without it run until the user ends them. */
  hasEnd?: true;
  /** Runs until done or until the signal aborts. Throws UsageError for wrong values, and the errors of its requests. */
  run(call: CommandCall): Promise<void>;
}

/** A flag of a command. */
export interface Option {
  name: string;
  short?: string;
  /** Name of the value in the usage; undefined for a switch. */
  value?: string;
  /** The allowed values, if the flag is an enum. */
  choices?: readonly string[];
  /** The flag may be repeated. */
  isMultiple?: true;
  isRequired?: true;
  description: string;
}

/** A terminal. */
export interface Terminal {
  /** Replaces the line drawn last. An empty line removes it. */
  draw(line: string): void;
}

/** A call of a command, with its arguments and output. */
export interface CommandCall {
  positionals: readonly string[];
  /** Returns the values of a flag in order; an empty array if the flag was not given. */
  values(name: string): readonly string[];
  /** Returns the last value of a flag; undefined if the flag was not given. */
  value(name: string): string | undefined;
  isSet(name: string): boolean;
  isJson: boolean;
  /** Writes a line to the standard output. */
  print(line: string): void;
  /** Writes a string to the standard output. Resolves when it is flushed, so that output may be larger than memory. */
  write(text: string): Promise<void>;
  /** Writes a line that is not a result to the standard error. With --json it writes nothing. */
  note(line: string): void;
  /** The terminal of the standard error; undefined if it is not a terminal, and with --json. */
  terminal: Terminal | undefined;
  env: NodeJS.ProcessEnv;
  input: NodeJS.ReadStream;
  settings: Settings;
  /** Aborts when the user ends the command. */
  signal: AbortSignal;
  /** Sets the exit code to 1, since the command did only part of its work. */
  setIncomplete(): void;
  /** Returns the address and the key. Throws SetupError without them. */
  credentials(): Promise<Credentials>;
  /** Returns the address and the key as client options. */
  clientOptions(): Promise<ClientOptions>;
  /** Sends a request with the retries of the client. Throws a RequestError. */
  send<Response>(line: RequestLine, parts?: RequestParts): Promise<Response>;
}

/** The option that filters events. */
export const eventsOption: Option = {
  name: 'events',
  short: 'e',
  value: 'kinds',
  isMultiple: true,
  description:
    "Kinds such as order.declined or families such as 'order.*', separated by commas or in repeated flags; default: all",
};

/** Returns the kinds that `--events` asks for; undefined for all. */
export function kindsOf(call: CommandCall): string[] | undefined {
  const kinds = call.values('events').flatMap((value) => value.split(','));
  return kinds.length === 0 ? undefined : kinds.map((kind) => kind.trim());
}

/** Returns a flag's value as an integer from `least` to `most`. Throws UsageError for any other. */
export function integerOf(
  call: CommandCall,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const text = call.value(name);
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`);
}

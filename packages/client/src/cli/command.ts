import type { ClientOptions, RequestLine, RequestParts } from '../requests/send.ts';
import { UsageError } from './errors.ts';
import type { Credentials, Settings } from './settings.ts';

/** A command of the tool. */
export interface Command {
  /** One or two words: `events tail`. */
  name: string;
  /** Its arguments as the usage shows them, such as `<method> <path>`; empty if it has none. */
  parameters: string;
  /** Smallest and largest number of arguments. */
  arity: readonly [number, number];
  /** Values of its first argument, where there are no others. */
  choices?: readonly string[];
  summary: string;
  /** Facts that a user needs beyond the summary. */
  description?: string;
  options: readonly Option[];
  /** Examples without the tool's name: `events tail --events 'order.*'`. */
  examples: readonly string[];
  /** Ended by the user it is not done, which its exit code says; the others go on until they are ended. */
  hasEnd?: true;
  /** Runs until it is done or its signal aborts. Throws UsageError for wrong values, and what its requests throw. */
  run(call: CommandCall): Promise<void>;
}

/** A flag of a command. */
export interface Option {
  name: string;
  short?: string;
  /** Name of the value in the usage; left out for a switch. */
  value?: string;
  /** Values that it may have, where there are no others. */
  choices?: readonly string[];
  /** It may be given several times. */
  isMultiple?: true;
  isRequired?: true;
  description: string;
}

/** A terminal. */
export interface Terminal {
  /** Shows a line in place of the one that it drew last; an empty one removes it. */
  draw(line: string): void;
}

/** A command as it was called. */
export interface CommandCall {
  positionals: readonly string[];
  /** Returns the values of a flag, in their order; none if it was not given. */
  values(name: string): readonly string[];
  /** Returns the only or last value of a flag; undefined if it was not given. */
  value(name: string): string | undefined;
  isSet(name: string): boolean;
  isJson: boolean;
  /** Writes a line to the standard output. */
  print(line: string): void;
  /** Writes a text to the standard output; resolves when it is taken, for output that is larger than memory. */
  write(text: string): Promise<void>;
  /** Writes a line to the standard error: what is no result, and is not shown with --json. */
  note(line: string): void;
  /** The terminal that the standard error is; undefined if it is none, and with --json. */
  terminal: Terminal | undefined;
  env: NodeJS.ProcessEnv;
  input: NodeJS.ReadStream;
  settings: Settings;
  /** Aborts when the user ends the tool. */
  signal: AbortSignal;
  /** Has the exit code be 1: not all was done, as the output says. */
  setIncomplete(): void;
  /** Returns the address and the key. Throws SetupError without them. */
  credentials(): Promise<Credentials>;
  /** Returns the same as the client's options. */
  clientOptions(): Promise<ClientOptions>;
  /** Sends a request with the retries of the client. Throws a RequestError. */
  send<Response>(line: RequestLine, parts?: RequestParts): Promise<Response>;
}

/** The option that chooses events, of commands that have them. */
export const eventsOption: Option = {
  name: 'events',
  short: 'e',
  value: 'kinds',
  isMultiple: true,
  description:
    "Kinds such as order.declined, families such as 'order.*'; several with commas, or the flag several times; default: all",
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

import type { Command, Option } from './command.ts';

/** Name of the tool. */
export const tool = 'customer-platform';

/** Flags of every command. */
export const jsonOption: Option = { name: 'json', description: 'Print JSON, for programs' };
export const helpOption: Option = { name: 'help', short: 'h', description: 'Show the flags and examples' };

/** Returns the tool's usage: all commands. */
export function usage(commands: readonly Command[]): string {
  return [
    `${tool} <command> [arguments] [--flags] [--json] [--help]`,
    ...commands.map(line),
    '',
    `${tool} <command> --help shows its flags and examples.`,
    'CUSTOMER_PLATFORM_KEY and CUSTOMER_PLATFORM_URL override the key and the address that login stored.',
    'Exit codes: 0 success, 1 error response, no response or incomplete, 2 wrong usage.',
  ].join('\n');
}

/** Returns the usage of the commands that begin with a word. */
export function groupUsage(word: string, commands: readonly Command[]): string {
  return [`${word} needs a subcommand:`, ...commands.map(line)].join('\n');
}

/** Returns how to show a command's flags and examples. */
export function helpHint({ name }: Command): string {
  return `${tool} ${name} --help shows its flags and examples.`;
}

/** Returns the usage of one command, with its flags and examples. */
export function commandUsage(command: Command): string {
  const { summary, description, options, examples } = command;
  const flags = [...options, jsonOption, helpOption].map(flagLine);
  return [
    `${tool} ${synopsis(command)} [--flags]`,
    ...wrapped(summary),
    ...(description ? ['', ...description.split('\n').flatMap(wrapped)] : []),
    '',
    ...flags,
    '',
    'Examples:',
    ...examples.map((example) => `  ${tool} ${example}`),
  ].join('\n');
}

/** Returns a paragraph as lines of at most 100 characters. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 100) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines;
}

function line(command: Command): string {
  return `  ${synopsis(command).padEnd(34)} ${command.summary}`;
}

function synopsis({ name, parameters }: Command): string {
  return `${name} ${parameters}`.trim();
}

function flagLine({ name, short, value, isRequired, description }: Option): string {
  const form = `${short ? `-${short}, ` : ''}--${name}${value ? ` <${value}>` : ''}`;
  return `  ${form.padEnd(28)} ${description}${isRequired ? ' (required)' : ''}`;
}

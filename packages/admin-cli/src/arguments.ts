import { parseArgs } from 'node:util';
import type { Command } from './commands.ts';
import { flagName, flagValue } from './flags.ts';

/** A parsed command line. */
export interface CommandRequest {
  command: Command;
  /** The operation's path with its parameters. */
  path: string;
  /** Fields of the body, or of the query of a GET. */
  fields: Record<string, unknown>;
  isJson: boolean;
}

/** Parses the arguments of the command whose number of parameters matches, among those of one name. Throws an Error if they are invalid. */
export function readArguments(candidates: Command[], args: string[]): CommandRequest {
  const names = candidates.flatMap(({ flags }) => flags.map(({ field }) => flagName(field)));
  const { values, positionals } = parseArgs({
    args: withTrue(candidates, args),
    allowPositionals: true,
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'string', multiple: true } as const])),
      json: { type: 'boolean' },
    },
  });
  const command = candidates.find(({ parameters }) => parameters.length === positionals.length);
  if (!command) {
    const forms = candidates.map(({ parameters }) => parameters.map((name) => `<${name}>`).join(' ') || 'flags only');
    throw new Error(`${candidates[0]!.name} takes ${forms.join(', or ')}`);
  }
  const fields: Record<string, unknown> = { ...command.fixed };
  for (const [name, texts] of Object.entries(values)) {
    if (!Array.isArray(texts)) continue;
    const flag = command.flags.find(({ field }) => flagName(field) === name);
    if (!flag) throw new Error(`${command.name} ${positionals.join(' ')} takes no --${name}`);
    fields[flag.field] = flagValue(flag, texts.map(String));
  }
  const missing = command.flags.filter((flag) => flag.isRequired && !(flag.field in fields));
  if (missing.length > 0) throw new Error(`needs ${missing.map((flag) => `--${flagName(flag.field)}`).join(', ')}`);
  return { command, path: pathOf(command, positionals), fields, isJson: values.json === true };
}

/** Adds `=true` to a boolean flag without a value: `--attention` means `--attention true`. */
function withTrue(candidates: Command[], args: string[]): string[] {
  const flags = candidates.flatMap((command) => command.flags).filter(({ kind }) => kind === 'boolean');
  const names = new Set(flags.map(({ field }) => `--${flagName(field)}`));
  return args.map((arg, index) => {
    const next = args[index + 1];
    return names.has(arg) && (next === undefined || next.startsWith('--')) ? `${arg}=true` : arg;
  });
}

function pathOf({ operation, parameters }: Command, positionals: string[]): string {
  // These values would change the path of the operation's URL.
  const misleading = positionals.findIndex((each) => ['', '.', '..'].includes(each));
  if (misleading >= 0) throw new Error(`<${parameters[misleading]}> must not be "${positionals[misleading]}"`);
  const path = operation?.path ?? '';
  return path.replace(/\{(\w+)\}/g, (_all, name) => encodeURIComponent(positionals[parameters.indexOf(name)]!));
}

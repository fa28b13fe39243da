import { type Command, checkCommand, commands, topCommand } from './commands.ts';
import { flagName } from './flags.ts';

/** Returns the tool's usage: all commands. */
export function usage(): string {
  const lines = commands.map((each) => commandLine(synopsis(each), each.summary));
  return [
    'admin <command> [arguments] [--flags] [--json] [--help]',
    ...lines,
    commandLine(checkCommand.name, checkCommand.summary),
    commandLine(topCommand.name, topCommand.summary),
    '',
    'ADMIN_URL (or ADMIN_PORT) and ADMIN_TOKEN set the address and the token; without them, those of a running npm start are read from .platform/.',
    'Exit codes: 0 done, 1 refused or no response, 2 used wrongly.',
  ].join('\n');
}

/** Returns the usage of the commands of one name, with their flags. */
export function commandUsage(found: Command[]): string {
  return found.map(oneUsage).join('\n\n');
}

/** Returns the usage of the live view. */
export function topUsage(): string {
  return [`${topCommand.name} [--json]`, `  ${topCommand.summary}`, `  ${topCommand.description}`].join('\n');
}

/** Returns the usage of the check. */
export function checkUsage(): string {
  const { name, summary, description } = checkCommand;
  return [`${name} [--account <account>] [--json]`, `  ${summary}`, `  ${description}`].join('\n');
}

function oneUsage(command: Command): string {
  const flags = command.flags.map((flag) => {
    const name = `--${flagName(flag.field)}${flag.isRequired ? ' *' : ''}`;
    return `  ${name.padEnd(24)} ${flag.kind.padEnd(8)} ${flag.description}`.trimEnd();
  });
  const { description } = command.operation;
  return [synopsis(command), `  ${command.summary}`, ...(description ? [`  ${description}`] : []), ...flags].join('\n');
}

function commandLine(form: string, summary: string): string {
  return `  ${form.padEnd(48)} ${summary}`;
}

function synopsis({ name, parameters, flags }: Command): string {
  const required = flags.filter(({ isRequired }) => isRequired).map(({ field }) => `--${flagName(field)} <${field}>`);
  return [name, ...parameters.map((parameter) => `<${parameter}>`), ...required].join(' ');
}

import type { Command } from '../command.ts';
import { allEntries } from '../entries.ts';
import { columnsOf, jsonLine } from '../text.ts';

/** Returns a command that prints all entries of the list at `path`: one line each below `head`, or one JSON value. */
export function listCommand<Entry>({
  path,
  head,
  rowOf,
  ...command
}: Pick<Command, 'name' | 'summary' | 'description'> & {
  path: string;
  head: string[];
  rowOf(entry: Entry): string[];
}): Command {
  return {
    ...command,
    parameters: '',
    arity: [0, 0],
    options: [],
    examples: [command.name, `${command.name} --json`],
    async run(call) {
      const entries = await allEntries<Entry>(call, path);
      if (call.isJson) return call.print(jsonLine({ data: entries }));
      for (const line of columnsOf([head, ...entries.map(rowOf)])) call.print(line);
    },
  };
}

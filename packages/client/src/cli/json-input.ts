import { readFile } from 'node:fs/promises';
import type { CommandCall, Option } from './command.ts';
import { SetupError, UsageError } from './errors.ts';
import { fileFault } from './file-faults.ts';

/** Largest input in bytes. The API accepts no larger JSON. */
const maxBytes = 1024 * 1024;

/** The option that takes JSON. */
export function dataOption(description: string): Option {
  return {
    name: 'data',
    short: 'd',
    value: 'json',
    description: `${description}; @file reads it from a file, - from the standard input`,
  };
}

/** Returns the value of `--data`; undefined without it. Throws UsageError if it is not JSON. */
export async function dataOf(call: CommandCall): Promise<unknown> {
  const data = call.value('data');
  if (data === undefined) return undefined;
  const text = data === '-' ? await readInput(call) : data.startsWith('@') ? await readBody(data.slice(1)) : data;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`--data must be valid JSON: ${(error as Error).message}`);
  }
}

async function readBody(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new SetupError(`${file} cannot be read: ${fileFault(error)}`);
  }
}

async function readInput({ input }: CommandCall): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > maxBytes) throw new UsageError(`--data must be at most ${maxBytes} bytes`);
  }
  return text;
}

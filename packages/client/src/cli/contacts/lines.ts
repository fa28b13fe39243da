import { FileError } from '../errors.ts';

/** Characters that a line has at most. */
const maxLength = 4 * 1024 * 1024;

/** Yields the lines of a text that comes in pieces, without their ends and without an empty last one. Throws FileError for one that is too long. */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let [rest, count] = ['', 0];
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    count += lines.length;
    yield* lines;
    if (rest.length > maxLength) throw new FileError(`Line ${count + 1} has more than ${maxLength} characters`);
  }
  if (rest !== '') yield rest;
}

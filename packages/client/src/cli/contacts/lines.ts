import { FileError } from '../errors.ts';

/** Most characters of a line. */
const maxLength = 4 * 1024 * 1024;

/** Yields the lines of a text from chunks, without line ends and without an empty last line. Throws FileError for a line that is too long. */
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

import { describe, expect, it } from '@jest/globals';
import { readForm } from './form-body.ts';

const type = 'multipart/form-data; boundary=q';
const space = { smallBytes: 1_048_576, large: () => Buffer.alloc(33_554_432) };

async function* piecesOf(body: Buffer, lastBytes: number): AsyncGenerator<Buffer> {
  const end = body.length - lastBytes;
  for (let at = 0; at < end; at += 65_536) yield body.subarray(at, Math.min(end, at + 65_536));
  yield body.subarray(end);
}

describe('a form whose last part has no name', () => {
  it.each([1, 65_536, 65_560, 100_000, 190_000])(
    'is read to its end, its last piece of %i bytes',
    async (lastBytes) => {
      const filler = Buffer.alloc(200_000, 'x');
      const file = '--q\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nabc\r\n';
      const body = Buffer.concat([
        Buffer.from(`${file}--q\r\nContent-Type: text/plain\r\n\r\n`),
        filler,
        Buffer.from('\r\n--q--'),
      ]);
      const { parts, error } = await readForm(piecesOf(body, lastBytes), type, space);
      expect([Object.keys(parts), error]).toEqual([['file'], undefined]);
      const bare = Buffer.concat([Buffer.from('--q\r\n\r\n'), filler, Buffer.from('\r\n--q--')]);
      expect((await readForm(piecesOf(bare, lastBytes), type, space)).parts).toEqual({});
    },
  );
});

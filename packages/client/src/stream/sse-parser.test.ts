import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSseParser } from './sse-parser.ts';

const parse = (...pieces: string[]) => {
  const parser = createSseParser(1_000);
  return { messages: pieces.flatMap((piece) => parser.push(piece)), retryMs: parser.retryMs };
};

describe('a stream of Server-Sent Events', () => {
  it('has messages with their own id or the previous one', () => {
    const text = 'data: early\n\nid: 7\nevent: order.created\ndata: {"a":1}\n\ndata:next\n\nid\ndata: none\n\n';
    expect(parse(text).messages).toEqual([
      { id: undefined, data: 'early' },
      { id: '7', data: '{"a":1}' },
      { id: '7', data: 'next' },
      { id: '', data: 'none' },
    ]);
  });

  it('may have comments, unknown fields, several lines of data, and only an id', () => {
    const text = ': hello\n\nfoo: bar\n\ndata: one\ndata:  two\ndata\n\nid: 9\n\n: bye\n\n';
    expect(parse(text).messages).toEqual([
      { id: undefined, data: 'one\n two\n' },
      { id: '9', data: '' },
    ]);
  });

  it('may set the reconnect delay', () => {
    expect(parse('retry: 3000\n\n').retryMs).toBe(3000);
    expect(parse('retry: 3000\nretry: soon\n\n').retryMs).toBe(3000);
    expect(parse('data: x\n\n').retryMs).toBeUndefined();
  });

  it('does not return an incomplete message', () => {
    expect(parse('id: 1\ndata: one\n').messages).toEqual([]);
  });

  it('parses the same in any chunks and with any line ends', () => {
    const line = fc.constantFrom('data: a', 'data', 'id: 1', ': c', 'x: y', '', '', 'retry: 5', 'data: é😀:');
    const end = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(fc.array(line), end, fc.array(fc.nat(200)), (lines, ending, cuts) => {
        const text = lines.map((each) => `${each}${ending}`).join('');
        const places = [0, ...cuts.filter((cut) => cut < text.length), text.length].toSorted(
          (one, other) => one - other,
        );
        const pieces = places.slice(1).map((place, index) => text.slice(places[index], place));
        const plain = lines.map((each) => `${each}\n`).join('');
        expect(parse(...pieces)).toEqual(parse(plain));
      }),
    );
  });

  it('has no message longer than the limit, in one line or many, without counting comments', () => {
    const push = (text: string) => () => parse(...text.match(/[\s\S]{1,7}/g)!);
    expect(push(`data:${'x'.repeat(995)}\n\n`)).not.toThrow();
    expect(push(`data:${'x'.repeat(996)}\n\n`)).toThrow(RangeError);
    expect(push('data: x\n'.repeat(143))).toThrow(RangeError);
    expect(push('x'.repeat(1_001))).toThrow(RangeError);
    expect(push(': still here\n'.repeat(1_000))).not.toThrow();
    expect(push('data: x\n\n'.repeat(1_000))).not.toThrow();
  });
});

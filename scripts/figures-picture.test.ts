import { describe, expect, it } from '@jest/globals';
import { figuresPicture } from './figures-picture.ts';

const page = (...rows: string[]) =>
  ['# Performance', '## At a glance', '', '| | measured | target |', '| :- | -: | -: |', ...rows, '', '## Next'].join(
    '\n',
  );
/** The rows' bars: whether each target holds, and how long the bar is. */
const bars = (...rows: string[]) =>
  [...figuresPicture(page(...rows)).matchAll(/<rect class="(\w+)" x="\d+" y="\d+" width="(\d+)"/g)].map(
    ([, kind, width]) => {
      return { kind, width: Number(width) };
    },
  );

describe('the picture of the figures', () => {
  it('has a bar up to the line where a target is just reached, from both sides', () => {
    expect(bars('| a | 250 ms | ≤ 250 ms |', '| b * | 2,500 | ≥ 2,500 |')).toEqual([
      { kind: 'holds', width: 200 },
      { kind: 'holds', width: 200 },
    ]);
  });

  it('shows what is missed, and of several parts the worst', () => {
    const [little, rate, parts, last] = bars(
      '| a | 0.1 s | ≤ 10 s |',
      '| b (missed) | 577 | ≥ 1,000 |',
      '| c | 275 ms / 0 / 0.8 s | ≤ 250 ms / 0 / 3 s |',
      '| d | 17 / 34 ms | p99 ≤ 50 ms |',
    );
    expect([little!.kind, rate!.kind, parts!.kind, last!.kind]).toEqual(['holds', 'missed', 'missed', 'holds']);
    expect(little!.width).toBeLessThan(last!.width);
    expect(rate!.width).toBeGreaterThan(parts!.width);
  });

  it('is refused where a page has no such table, or a row no number', () => {
    expect(() => figuresPicture('# Performance')).toThrow('needs a table under "At a glance"');
    expect(() => figuresPicture(page('| a | good | ≤ 2 s |'))).toThrow('"good" has no number');
  });
});

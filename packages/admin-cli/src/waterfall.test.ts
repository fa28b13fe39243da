import { describe, expect, it } from '@jest/globals';
import { widthOf } from './text.ts';
import { waterfall } from './waterfall.ts';

const startNs = 1_763_640_000_000_000_000n;
const screen = { columns: 80, now: new Date() };

/** A span from `from` to `to` in milliseconds after the trace's start. */
function span(spanId: string, parentSpanId: string, [from, to]: [number, number], more: object = {}) {
  const at = (ms: number) => String(startNs + BigInt(ms) * 1_000_000n);
  const times = { startTimeUnixNano: at(from), endTimeUnixNano: at(to) };
  return { traceId: 'f'.repeat(32), spanId, parentSpanId, name: `span ${spanId}`, ...times, ...more };
}

function of(service: string, ...spans: ReturnType<typeof span>[]) {
  const attributes = [{ key: 'service.name', value: { stringValue: service } }];
  return { resource: { attributes }, scopeSpans: [{ spans }] };
}

describe('a waterfall', () => {
  it('has parents before their children, sorted by start, each with service, milliseconds, status and bar', () => {
    const open = span('f', 'e', [60, 0], { name: '\u001b[2J' });
    const resourceSpans = [
      of(
        'calendar',
        span('c', 'b', [30, 35], { status: { code: 2 } }),
        span('b', 'a', [10, 60], { status: { code: 1 } }),
      ),
      of('gateway', span('a', '', [0, 100]), span('e', 'a', [60, 100]), open),
    ];
    expect(waterfall({ resourceSpans }, screen)).toEqual([
      `trace ${'f'.repeat(32)} of gateway, calendar, 100 ms`,
      'name           service     ms  status',
      'span a         gateway    100  -       ████████████████',
      '  span b       calendar  50.0  ok       ████████',
      '    span c     calendar  5.00  error       █',
      '  span e       gateway   40.0  -                ██████',
      '    \\u001b[2J  gateway   0.00  -                █',
    ]);
  });

  it('shows the response status of a span, and the type and message of its error if it failed', () => {
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const code = (intValue: number | string) => ({ key: 'http.response.status_code', value: { intValue } });
    const failed = (attributes: object[], ...exception: object[]) => ({
      ...{ status: { code: 2 }, attributes },
      events: [{ name: 'other' }, { name: 'exception', attributes: exception }],
    });
    const message = text('exception.message', `canceling statement\n${'x'.repeat(60)}`);
    const spans = [
      span('a', '', [0, 100], failed([text('error.type', '503'), code(503)])),
      span('b', 'a', [0, 50], { attributes: [code('409')] }),
      span('c', 'b', [0, 10], failed([text('error.type', '57014')], message)),
      span('d', 'b', [10, 20], failed([], text('exception.type', 'TypeError'))),
      span('e', 'b', [20, 30], { status: { code: 2, message: 'gone' } }),
    ];
    const lines = waterfall({ resourceSpans: [of('crm', ...spans)] }, screen).slice(2);
    expect(lines.map((line) => line.replaceAll('█', '').trimEnd())).toEqual([
      'span a      crm       100  error 503',
      '  span b    crm      50.0  409',
      '    span c  crm      10.0  error',
      `  error 57014: canceling statement\\n${'x'.repeat(60)}`,
      '    span d  crm      10.0  error',
      '  error TypeError',
      '    span e  crm      10.0  error',
      '  error gone',
    ]);
  });

  it('fits the terminal with deep and long names, and shows a span whose parent is missing', () => {
    const deep = Array.from({ length: 2_000 }, (_value, index) =>
      span(String(index), index === 0 ? 'missing' : String(index - 1), [index, index]),
    );
    const lines = waterfall({ resourceSpans: [of('agents', ...deep)] }, screen);
    expect(lines).toHaveLength(2 + 2_000);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(80);
  });
});

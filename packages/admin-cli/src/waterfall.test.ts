import { describe, expect, it } from '@jest/globals';
import { widthOf } from './text.ts';
import { waterfall } from './waterfall.ts';

const startNs = 1_763_640_000_000_000_000n;

/** A span from `from` to `to` in milliseconds after the trace's start. */
function span(spanId: string, parentSpanId: string, [from, to]: [number, number], code = 0) {
  const at = (ms: number) => String(startNs + BigInt(ms) * 1_000_000n);
  const times = { startTimeUnixNano: at(from), endTimeUnixNano: at(to) };
  return { traceId: 'f'.repeat(32), spanId, parentSpanId, name: `span ${spanId}`, kind: 2, ...times, status: { code } };
}

function of(service: string, ...spans: ReturnType<typeof span>[]) {
  const attributes = [{ key: 'service.name', value: { stringValue: service } }];
  return { resource: { attributes }, scopeSpans: [{ scope: { name: 'x' }, spans }] };
}

describe('a waterfall', () => {
  it('has parents before their children, by start, each with service, milliseconds, status and bar', () => {
    const resourceSpans = [
      of('calendar', span('c', 'b', [30, 35], 2), span('b', 'a', [10, 60], 1)),
      of('gateway', span('a', '', [0, 100]), span('e', 'a', [60, 100])),
    ];
    expect(waterfall({ resourceSpans }, 60)).toEqual([
      `trace ${'f'.repeat(32)}, 4 spans of 2 services, 100 ms`,
      'name              service     ms  status',
      'span a            gateway    100  -       ██████████████████',
      '  span b          calendar  50.0  ok       █████████',
      '    span c        calendar  5.00  error        █',
      '  span e          gateway   40.0  -                 ███████',
    ]);
  });

  it('says of a span the status of its response, and below one that failed the type and the text of its error', () => {
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const code = (intValue: number | string) => ({ key: 'http.response.status_code', value: { intValue } });
    const exception = (...attributes: object[]) => ({ events: [{ name: 'other' }, { name: 'exception', attributes }] });
    const message = text('exception.message', 'canceling statement\ndue to statement timeout');
    const refused = { ...span('a', '', [0, 100], 2), attributes: [text('error.type', '503'), code(503)] };
    const conflict = { ...span('b', 'a', [0, 50]), attributes: [code('409')] };
    const failed = { ...span('c', 'b', [0, 10], 2), attributes: [text('error.type', '57014')], ...exception(message) };
    const other = { ...span('d', 'b', [10, 20], 2), ...exception(text('exception.type', 'TypeError')) };
    const told = { ...span('e', 'b', [20, 30]), status: { code: 'STATUS_CODE_ERROR', message: 'gone' } };
    const resourceSpans = [of('crm', refused, conflict, failed, other, told as unknown as typeof failed)];
    expect(
      waterfall({ resourceSpans }, 80)
        .slice(2)
        .map((line) => line.split('█', 1)[0]!.trimEnd()),
    ).toEqual([
      'span a            crm       100  error 503',
      '  span b          crm      50.0  409',
      '    span c        crm      10.0  error',
      '      error 57014: canceling statement\\ndue to statement timeout',
      '    span d        crm      10.0  error',
      '      error TypeError',
      '    span e        crm      10.0  error',
      '      error gone',
    ]);
  });

  it('fits the terminal with deep and long names, and shows a span whose parent is missing or that is its own', () => {
    const deep = Array.from({ length: 5_000 }, (_value, index) =>
      span(String(index), index === 0 ? 'missing' : String(index - 1), [index, index]),
    );
    const circle = [span('x', 'y', [1, 2]), span('y', 'x', [3, 4]), span('z', 'z', [5, 5])];
    const lines = waterfall({ resourceSpans: [of('agents', ...deep, ...circle)] }, 80);
    expect(lines).toHaveLength(2 + 5_003);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(80);
  });

  it('shows spans that have not ended, and none', () => {
    const open = { ...span('a', '', [0, 0]), name: '\u001b[2J', endTimeUnixNano: '0' };
    expect(waterfall({ resourceSpans: [of('crm', open)] }, 80)[2]).toMatch(/^\\u\{1b\}\[2J +crm +0\.00 +- +█$/);
    expect(waterfall({ resourceSpans: [] }, 80)).toEqual(['no spans']);
  });
});

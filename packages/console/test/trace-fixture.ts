export const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

type Value = { stringValue: string } | { intValue: string };
const begin = BigInt(Date.now() - 40_000) * 1_000_000n;
let spanCount = 0;

interface Made {
  service: string;
  span: Record<string, unknown>;
}

/** Returns a span. Times are in milliseconds from the trace's start. */
function span(
  service: string,
  name: string,
  options: {
    parent?: Made;
    from: number;
    to: number;
    kind: number;
    attributes?: Record<string, Value>;
    error?: string;
  },
): Made {
  const nanos = (ms: number) => String(begin + BigInt(Math.round(ms * 1e6)));
  const spanId = (++spanCount).toString(16).padStart(16, '0');
  const { parent, from, to, kind, attributes = {}, error } = options;
  return {
    service,
    span: {
      traceId,
      spanId,
      ...(parent ? { parentSpanId: parent.span.spanId } : {}),
      name,
      kind,
      startTimeUnixNano: nanos(from),
      endTimeUnixNano: nanos(to),
      attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
      status: error ? { code: 2, message: error } : {},
    },
  };
}

/** A booking's trace as OTLP/JSON, from the client's request to the second attempt of its webhook. */
export function bookingTrace(account: string, requestId: string): { resourceSpans: Record<string, unknown>[] } {
  const text = (stringValue: string) => ({ stringValue });
  const status = (code: number) => ({ intValue: String(code) });
  const request = span('gateway', 'POST /v1/calendar/appointments', {
    from: 0,
    to: 38.2,
    kind: 2,
    attributes: {
      'platform.account': text(account),
      'platform.operation': text('bookAppointment'),
      'platform.request_id': text(requestId),
      'http.response.status_code': status(201),
    },
  });
  const booking = span('calendar', 'POST /v1/calendar/appointments', { parent: request, from: 2.1, to: 36.8, kind: 2 });
  const insert = span('calendar', 'INSERT appointments', { parent: booking, from: 9.4, to: 21, kind: 3 });
  const publish = span('calendar', 'publish appointment.booked', { parent: booking, from: 44, to: 49, kind: 4 });
  const consume = span('webhooks', 'process public-events', { parent: publish, from: 52, to: 64, kind: 5 });
  const host = text('hooks.northwind.example');
  const tries = [503, 200].map((code, index) =>
    span('webhooks', 'POST', {
      parent: consume,
      from: 70 + index * 5_200,
      to: 131 + index * 5_240,
      kind: 3,
      attributes: {
        'server.address': host,
        'http.request.method': text('POST'),
        'http.response.status_code': status(code),
      },
      ...(code === 503 ? { error: 'HTTP 503' } : {}),
    }),
  );
  const all = [request, booking, insert, publish, consume, ...tries];
  return {
    resourceSpans: [...Map.groupBy(all, ({ service }) => service)].map(([service, made]) => ({
      resource: { attributes: [{ key: 'service.name', value: text(service) }] },
      scopeSpans: [{ scope: { name: 'platform' }, spans: made.map((each) => each.span) }],
    })),
  };
}

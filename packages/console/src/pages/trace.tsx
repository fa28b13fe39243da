import { type ReactNode, useMemo, useState } from 'react';
import { maxSpans, type Span, type Waterfall, waterfallOf } from '../traces/otlp.ts';
import { Id } from '../ui/copy.tsx';
import { count, milliseconds } from '../ui/format.ts';
import { AccountLink } from '../ui/links.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { codes, Facts, Page } from '../ui/page.tsx';
import { RelativeAndClock } from '../ui/time.tsx';
import { TraceRefusal } from '../ui/trace-refusal.tsx';

const titleOf = (span: Span) =>
  attributeOf(span, 'platform.operation') ?? `${span.name.split(' ')[0]} ${attributeOf(span, 'url.path') ?? ''}`.trim();

/** One trace as a waterfall: spans below their parents, each with its duration as a bar. */
export function TracePage({ id }: { id: string }) {
  const { data, isLoading, error } = useResource('GET /admin/traces/{trace_id}', { params: { trace_id: id } });
  const waterfall = useMemo(() => (data ? waterfallOf(data) : undefined), [data]);
  const first = waterfall?.spans[0];
  const errors = waterfall?.spans.filter(({ isError }) => isError) ?? [];
  return (
    <Page title={first ? `Trace of ${titleOf(first)}` : 'Trace'}>
      {error ? <TraceRefusal error={error} /> : <Loading isLoading={isLoading} error={null} />}
      {waterfall && first && (
        <>
          <Facts
            facts={{
              Started: <RelativeAndClock at={new Date(waterfall.startedAt).toISOString()} />,
              Duration: milliseconds(waterfall.duration),
              Spans: <ToSpan count={waterfall.spans.length} span={first} />,
              Errors: <ToSpan count={errors.length} span={errors[0]} />,
              Account: <AccountLink id={attributeOf(first, 'platform.account')} />,
              ...requestFacts(first),
              Id: <Id value={id} />,
            }}
          />
          <Legend services={waterfall.services} />
          <Bars waterfall={waterfall} />
          {waterfall.spans.length === maxSpans && <p className="hint">The first {count(maxSpans)} spans are shown.</p>}
        </>
      )}
    </Page>
  );
}

/** Returns the response, key, client and id of a request, as far as its gateway span has them. */
function requestFacts(span: Span): Record<string, ReactNode> {
  const named = [
    ['Response', attributeOf(span, 'http.response.status_code')],
    ['Key ends in', attributeOf(span, 'platform.key')],
    ['Client', attributeOf(span, 'client.address')],
    ['Request', attributeOf(span, 'platform.request_id')],
  ] as const;
  return Object.fromEntries(
    named.flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, name === 'Request' ? <Id key={name} value={value} /> : <code key={name}>{value}</code>]],
    ),
  );
}

/** A number of spans, as a link to the first one. */
function ToSpan({ count: value, span }: { count: number; span: Span | undefined }) {
  if (!span) return <span className="none">0</span>;
  const show = () => {
    const bar = document.getElementById(`span-${span.id}`);
    bar?.scrollIntoView({ block: 'center' });
    bar?.focus();
  };
  return (
    <button type="button" className="link" onClick={show}>
      {count(value)}
    </button>
  );
}

function attributeOf({ attributes }: Span, name: string): string | undefined {
  return attributes.find(([each]) => each === name)?.[1];
}

/** Returns the CSS class of a service's color. There are eight, assigned in the order of the trace. */
function colorOf(services: string[], service: string): string {
  return `service-${services.indexOf(service) % 8}`;
}

function Legend({ services }: { services: string[] }) {
  return (
    <ul className="legend" aria-label="Services">
      {services.map((service) => (
        <li key={service}>
          <span className={`swatch ${colorOf(services, service)}`} /> {service}
        </li>
      ))}
    </ul>
  );
}

function Bars({ waterfall: { spans, duration, services } }: { waterfall: Waterfall }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const total = Math.max(duration, 0.001);
  return (
    <ol className="waterfall" aria-label="Spans">
      <li className="scale" aria-hidden="true">
        <span>Span</span>
        <span>
          {[0, 0.25, 0.5, 0.75, 1].map((share) => (
            <span key={share}>{share === 0 ? '0' : milliseconds(total * share)}</span>
          ))}
        </span>
        <span>Took</span>
      </li>
      {spans.map((span) => {
        const isChosen = span.id === chosen;
        return (
          <li key={span.id}>
            <button
              id={`span-${span.id}`}
              type="button"
              aria-expanded={isChosen}
              onClick={() => setChosen(isChosen ? null : span.id)}
            >
              <span className="name" style={{ paddingInlineStart: `${Math.min(span.depth, 12) * 12}px` }}>
                <span className={`swatch ${colorOf(services, span.service)}`} />
                <span className="service">{span.service}</span> {span.name} <Remote span={span} />
                {span.isError && <span className="error-text">{span.error ?? 'error'}</span>}
              </span>
              <span className="track">
                <span
                  className={`bar-of-span ${colorOf(services, span.service)}${span.isError ? ' error' : ''}`}
                  style={{ left: `${(span.start / total) * 100}%`, width: `${(span.duration / total) * 100}%` }}
                />
              </span>
              <span className="took">{milliseconds(span.duration)}</span>
            </button>
            {isChosen && <SpanFacts span={span} />}
          </li>
        );
      })}
    </ol>
  );
}

/** The host that a span called over HTTP, and the status of the response, if the span has them. */
function Remote({ span }: { span: Span }) {
  const isHttp = span.kind === 'client' && span.attributes.some(([name]) => name.startsWith('http.'));
  const host = isHttp ? attributeOf(span, 'server.address') : undefined;
  const status = attributeOf(span, 'http.response.status_code');
  return (
    <>
      {host !== undefined && <span className="muted">{host} </span>}
      {status !== undefined && <code className={Number(status) >= 400 ? 'bad' : 'good'}>{status}</code>}
    </>
  );
}

function SpanFacts({ span }: { span: Span }) {
  const { service, kind, start, duration, error, attributes } = span;
  return (
    <Facts
      facts={{
        service: service,
        kind: kind,
        'starts at': `+${milliseconds(start)}`,
        took: milliseconds(duration),
        ...(error === null ? {} : { error }),
        ...codes(attributes),
      }}
    />
  );
}

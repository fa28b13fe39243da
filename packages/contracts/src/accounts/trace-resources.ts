import { z } from 'zod';
import { text, timestamp, uuid } from '../core/fields.ts';
import { pageQuery } from '../core/page.ts';

const spanStatus = z.enum(['ok', 'error']);

/** A trace that the platform collected. */
export const TraceSummary = z
  .object({
    trace_id: z.string(),
    request_id: z.string().nullable(),
    account: z.guid().nullable(),
    operation: z.string().nullable(),
    request: z
      .string()
      .nullable()
      .meta({ description: 'Method and path of the request, such as `POST /v1/webhooks`.' }),
    request_status: spanStatus.nullable().meta({
      description: "Status of the request's span at the gateway; null if the trace has no request.",
    }),
    request_duration_ms: z.number().nullable().meta({ description: 'Duration of the request.' }),
    status_code: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the response; null if the trace has no request.' }),
    error_code: z.string().nullable().meta({ description: 'Error code of the response; null if it is no error.' }),
    status: spanStatus.meta({ description: '`error` if any span of the trace has this status.' }),
    started_at: timestamp,
    duration_ms: z.number().meta({
      description:
        'Milliseconds from the start of the first span to the end of the last, including later work caused by the request.',
    }),
    spans: z.int(),
  })
  .meta({ id: 'TraceSummary' });
export type TraceSummary = z.infer<typeof TraceSummary>;

/** The spans of a trace as OTLP/JSON. */
export const Trace = z
  .object({ resourceSpans: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: 'Trace', description: 'All spans of the trace as OTLP/JSON.' });

const minDurationMs = z.int().min(0).max(86_400_000).optional();
export const traceQuery = z.object({
  account: uuid.optional(),
  operation: text(200, 1).optional(),
  request_status: spanStatus.optional().meta({ description: 'Only traces of requests with this status.' }),
  request_min_duration_ms: minDurationMs.meta({ description: 'Only traces of requests that took at least this.' }),
  status: spanStatus.optional().meta({ description: 'Only traces with this status as a whole.' }),
  min_duration_ms: minDurationMs.meta({ description: 'Only traces that lasted at least this as a whole.' }),
  status_code: z
    .string()
    .regex(/^[1-5](\d\d|xx)$/, 'must be a status such as 429, or a class such as 4xx')
    .optional()
    .meta({ description: 'Only traces of requests with this status, such as 429, or in this class, such as 4xx.' }),
  unauthenticated: z
    .boolean()
    .optional()
    .meta({ description: 'Whether to include requests without a valid key. Default: false.' }),
  ...pageQuery,
});
/** A trace id, or the id of a request. */
export const tracePath = z.object({ trace_id: z.string() });

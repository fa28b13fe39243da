import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65535);
const url = z.string().min(1);
const text = z.string().optional();

/** The settings of every process. Each process extends this object with its own, and parses it once, at start. */
export const baseConfig = z.object({
  HOST: z.string().default('127.0.0.1').meta({ description: 'Address to listen on.' }),
  PORT: port.default(0).meta({ description: 'Port to listen on; 0 picks a free one.' }),
  DATABASE_URL: url.meta({ description: "PostgreSQL URL of this process's own role." }),
  DATABASE_POOL: z.coerce.number().int().min(1).max(200).default(16).meta({
    description:
      'Maximum number of connections to PostgreSQL; requests of one account hold two thirds of them at most.',
  }),
  DATABASE_POOLER: z.enum(['none', 'transaction']).default('none').meta({
    description:
      'transaction where DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer: nothing is expected of a connection beyond its transaction then.',
  }),
  DATABASE_DIRECT_URL: url.optional().meta({
    description:
      'PostgreSQL URL of the same role without the pooler, for migrations and for the lock by which one process takes events; required with one.',
  }),
  NATS_URL: url.meta({
    description:
      'NATS servers with JetStream, separated by commas, such as nats://user:password@127.0.0.1:4222; tls:// asks for TLS.',
  }),
  NATS_CREDENTIALS_FILE: text.meta({
    description: 'File with NATS credentials (.creds), in place of user and password.',
  }),
  NATS_TLS_CA_FILE: text.meta({
    description: "PEM file of the authority that signed the NATS servers' certificates; TLS is required then.",
  }),
  NATS_TLS_CERT_FILE: text.meta({ description: 'PEM file of the certificate that this process shows to NATS.' }),
  NATS_TLS_KEY_FILE: text.meta({ description: 'PEM file of the key of that certificate.' }),
  NATS_REPLICAS: z.coerce.number().int().min(1).max(5).optional().meta({
    description:
      'Servers of a NATS cluster that keep each event: 3 for a cluster of three; NATS decides without it. The gateway applies it to the stream that is there when it connects; the same for all.',
  }),
  NATS_STREAM_MIB: z.coerce.number().int().min(1_024).optional().meta({
    description:
      'Most space for events, in MiB on each server; unlimited without it. Where it is full the oldest events go, those too that a consumer has not taken: it is for seven days, and the alert EventStreamFilling comes at 70 %.',
  }),
  BUS_REQUEST_TIMEOUT_MS: z.coerce
    .number()
    .int()
    .min(50)
    .max(30_000)
    .default(500)
    .meta({ description: 'Timeout of requests to other services, in milliseconds.' }),
  BUS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .default('platform')
    .meta({ description: 'First token of every subject and name of the stream: separates installations on one NATS.' }),
  CONTEXT_SECRET: z.string().min(32).meta({
    description: 'Signs the context that the gateway gives services; the same for all, 32 characters at least.',
  }),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'Least severe level that is logged.' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: text.meta({
    description:
      'OTLP/HTTP collector for traces and metrics; there are no traces without it. Read as OpenTelemetry says are also OTEL_EXPORTER_OTLP_… (over HTTP), OTEL_BSP_…, OTEL_METRIC_EXPORT_… and OTEL_RESOURCE_ATTRIBUTES.',
  }),
  OTEL_TRACES_SAMPLER: text.meta({
    description:
      'Which traces are recorded, such as parentbased_traceidratio with OTEL_TRACES_SAMPLER_ARG=0.1; default: all.',
  }),
  OTEL_METRICS_EXPORTER: text.meta({
    description:
      'otlp (default with a collector), none, or prometheus, which needs no collector; several separated by commas.',
  }),
  OTEL_EXPORTER_PROMETHEUS_HOST: text.meta({
    description:
      'Address on which Prometheus reads the metrics of this process at /metrics, without a token: never a public one; default: localhost.',
  }),
  OTEL_EXPORTER_PROMETHEUS_PORT: port.optional().meta({
    description: 'Its port, 9464 by default; processes of one machine need one each.',
  }),
  DUE_LOOK_SECONDS: z.coerce.number().min(0.05).max(3_600).default(5).meta({
    description:
      'Longest time between looks for work that is due, in seconds: a process knows of its own, and finds what one that died has left within this time.',
  }),
  DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    .default(10)
    .meta({ description: 'How long a stopping process waits for the requests it has taken.' }),
  DRAIN_DELAY_SECONDS: z.coerce.number().min(0).max(300).default(5).meta({
    description:
      'How long a process serves on after SIGTERM, while its /readyz is 503 and its connections end: the time in which a balancer notices.',
  }),
});

export type BaseConfig = z.infer<typeof baseConfig>;

/** A positive port setting for listeners beyond the first. */
export const portSetting = port;

/**
 * Parses the environment. Empty values count as missing. Throws an Error that lists every missing or wrong setting with its description, so that
 * one start shows all of them.
 */
export function readConfig<Schema extends z.ZodObject>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const setting = schema.shape[name] as z.ZodType | undefined;
    return `  ${name}: ${issue.message}. ${setting?.meta()?.description ?? ''}`;
  });
  throw new Error(`Settings are missing or wrong:\n${lines.join('\n')}`);
}

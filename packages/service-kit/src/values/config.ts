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
      'Maximum number of connections to PostgreSQL. Requests of one account hold at most two thirds of them.',
  }),
  DATABASE_POOLER: z.enum(['none', 'transaction']).default('none').meta({
    description: 'Set to transaction if DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer.',
  }),
  DATABASE_DIRECT_URL: url.optional().meta({
    description:
      'PostgreSQL URL of the same role that bypasses the pooler, for migrations and locks. Required with DATABASE_POOLER=transaction.',
  }),
  NATS_URL: url.meta({
    description:
      'NATS servers with JetStream, separated by commas, such as nats://user:password@127.0.0.1:4222. tls:// requires TLS.',
  }),
  NATS_CREDENTIALS_FILE: text.meta({
    description: 'File with NATS credentials (.creds), instead of user and password.',
  }),
  NATS_TLS_CA_FILE: text.meta({
    description: "PEM file of the authority that signed the NATS servers' certificates. Requires TLS.",
  }),
  NATS_TLS_CERT_FILE: text.meta({ description: "PEM file of this process's client certificate for NATS." }),
  NATS_TLS_KEY_FILE: text.meta({ description: "PEM file of the client certificate's key." }),
  NATS_REPLICAS: z.coerce.number().int().min(1).max(5).optional().meta({
    description:
      'Number of NATS servers that store each event: 3 for a cluster of three. Default: NATS decides. Use one value for all processes; the gateway applies it to an existing stream when it connects.',
  }),
  NATS_STREAM_MIB: z.coerce.number().int().min(1_024).optional().meta({
    description:
      'Maximum space for seven days of events, in MiB per server. Default: unlimited. A full stream drops its oldest events, even unread ones. The alert EventStreamFilling fires at 70 %.',
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
    .meta({
      description:
        "First token of every subject and the stream's name. It separates installations that share one NATS.",
    }),
  CONTEXT_SECRET: z.string().min(32).meta({
    description:
      'Signs the context that the gateway sends to services. The same for all processes, at least 32 characters.',
  }),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'Lowest level that is logged.' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: text.meta({
    description:
      'OTLP/HTTP collector for traces and metrics. Without it there are no traces. OTEL_EXPORTER_OTLP_… (over HTTP), OTEL_BSP_…, OTEL_METRIC_EXPORT_… and OTEL_RESOURCE_ATTRIBUTES work as in OpenTelemetry.',
  }),
  OTEL_TRACES_SAMPLER: text.meta({
    description:
      'Which traces are recorded, such as parentbased_traceidratio with OTEL_TRACES_SAMPLER_ARG=0.1. Default: all.',
  }),
  OTEL_METRICS_EXPORTER: text.meta({
    description:
      'otlp (default with a collector), prometheus (needs no collector) or none. Separate several by commas.',
  }),
  OTEL_EXPORTER_PROMETHEUS_HOST: text.meta({
    description:
      "Address at which Prometheus reads this process's /metrics. It needs no token, so never use a public address. Default: localhost.",
  }),
  OTEL_EXPORTER_PROMETHEUS_PORT: port.optional().meta({
    description: 'Port of /metrics. Each process of a machine needs its own. Default: 9464.',
  }),
  DUE_LOOK_SECONDS: z.coerce.number().min(0.05).max(3_600).default(5).meta({
    description:
      'Maximum time between looks for due work, in seconds. Within this time, a process finds the work of one that died.',
  }),
  DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(300)
    .default(10)
    .meta({ description: 'How long a stopping process waits for requests in flight, in seconds.' }),
  DRAIN_DELAY_SECONDS: z.coerce.number().min(0).max(300).default(5).meta({
    description:
      'How long a process keeps serving after SIGTERM, in seconds. Meanwhile /readyz returns 503, so that a load balancer notices.',
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

import { freePort } from '@customer-platform/deploy/local-port';

/** Metrics of this process in Prometheus format. */
export interface ExportedMetrics {
  text(): Promise<string>;
  /** Returns the first series of each gauge; NaN if a gauge has none. */
  valuesOf<Name extends string>(names: readonly Name[]): Promise<Record<Name, number>>;
  /** Removes the settings. */
  stop(): void;
}

/** Makes the next started platform export its metrics. The SDK reads its settings from the process environment and starts once per process. */
export async function exportMetrics(): Promise<ExportedMetrics> {
  const port = String(await freePort());
  const settings = {
    OTEL_METRICS_EXPORTER: 'prometheus',
    OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
    OTEL_EXPORTER_PROMETHEUS_PORT: port,
  };
  Object.assign(process.env, settings);
  const text = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return {
    text,
    async valuesOf<Name extends string>(names: readonly Name[]) {
      const lines = (await text()).split('\n');
      const firstOf = (name: Name) =>
        Number(
          lines
            .find((line) => line.startsWith(`${name}{`))
            ?.split(' ')
            .at(-1),
        );
      return Object.fromEntries(names.map((name) => [name, firstOf(name)])) as Record<Name, number>;
    },
    stop() {
      for (const name of Object.keys(settings)) delete process.env[name];
    },
  };
}

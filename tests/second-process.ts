import { connect, createServer, type Socket } from 'node:net';
import { type Deployable, type Platform as Deployment, describeProcess } from '@customer-platform/deploy/deployables';
import { freePort } from '@customer-platform/deploy/local-port';
import { isAlive, spawnManaged, stopChild } from '@customer-platform/deploy/supervisor/managed-process';
import { joinSockets, waitFor } from '@customer-platform/testkit';

/** Second process of a deployable, at a separate port, next to the platform's own process. */
export interface SecondProcess {
  port: number;
  pid: number;
  /** Ends the process as an operator does. Returns whether it exited with 0 without being killed. */
  stop(): Promise<boolean>;
}

/** Starts a second process with additional `env` and waits until it is ready. */
export async function startSecond(
  deployable: Deployable,
  deployment: Deployment,
  env: Record<string, string>,
): Promise<SecondProcess> {
  const { name } = deployable;
  const [port, adminPort] = [await freePort(), await freePort()];
  const own =
    name === 'gateway'
      ? { ...deployment, gatewayPort: port, adminPort }
      : { ...deployment, ports: { ...deployment.ports, [name]: port } };
  const described = describeProcess(deployable, own);
  // The control plane of the platform's own gateway receives the traces, like those of all other processes.
  const { OTEL_EXPORTER_OTLP_ENDPOINT } = describeProcess(deployable, deployment).env;
  const managed = {
    ...described,
    recordFile: described.recordFile.replace(/\.json$/, '-second.json'),
    env: { ...described.env, OTEL_EXPORTER_OTLP_ENDPOINT: OTEL_EXPORTER_OTLP_ENDPOINT!, ...env },
  };
  const child = spawnManaged(managed);
  for (const output of [child.stdout, child.stderr]) output?.resume();
  await waitFor(`the second ${name}`, () => managed.ready(), 60_000);
  return {
    port,
    pid: child.pid!,
    stop: async () => {
      const isOrderly = !isAlive(child) || (await stopChild(child, managed, 30_000));
      return isOrderly && child.exitCode === 0;
    },
  };
}

/** Balancer on this machine. Each connection goes to the next process that accepts it. */
export interface Balancer {
  url: string;
  /** Ports of the processes that get new connections. */
  ports: number[];
  stop(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    const lead = (candidates: readonly number[]) => {
      const [port, ...others] = candidates;
      if (port === undefined) return client.destroy();
      const upstream = connect({ port, host: '127.0.0.1', noDelay: true });
      upstream.once('error', () => lead(others));
      upstream.once('connect', () => joinSockets(client, upstream.removeAllListeners('error'), sockets));
    };
    client.setNoDelay(true).on('error', () => undefined);
    const first = turn++ % balancer.ports.length;
    lead([...balancer.ports.slice(first), ...balancer.ports.slice(0, first)]);
  });
  const port = await freePort();
  const balancer: Balancer = {
    url: `http://127.0.0.1:${port}`,
    ports: [],
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return balancer;
}

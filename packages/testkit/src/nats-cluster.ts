import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, programsFolder } from './data-folder.ts';

/** Number of servers in the cluster. */
export const natsServers = 3;

/** Three NATS servers that replicate each stream. */
export interface NatsCluster {
  /** The servers' URLs, for NATS_URL. */
  urls: string[];
  /** Kills a server with SIGKILL. */
  kill(index: number): void;
  /** Restarts a killed server. */
  start(index: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the servers. They may not have elected a leader yet. */
export async function startNatsCluster(): Promise<NatsCluster> {
  const directory = newDataFolder();
  const described = await describe(directory);
  const running = await Promise.all(described.map((each) => startServer(each)));
  return {
    urls: described.map(({ url }) => url),
    kill: (index) => void process.kill(running[index]!.pid, 'SIGKILL'),
    async start(index) {
      running[index] = await startServer(described[index]!);
    },
    async stop() {
      for (const each of running) await each.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function describe(directory: string): Promise<ServerProcess[]> {
  const ports = await Promise.all(
    Array.from({ length: natsServers }, async () => [await freePort(), await freePort()] as const),
  );
  const routes = ports.map(([, port]) => `nats://127.0.0.1:${port}`);
  return await Promise.all(
    ports.map(async ([port, clusterPort], index) => {
      const own = join(directory, String(index));
      const described = await natsServer({ directory: own, port, cacheDirectory: programsFolder() });
      const cluster = { name: 'test', listen: `127.0.0.1:${clusterPort}`, routes, no_advertise: true };
      const config = `server_name: server-${index}\ncluster: ${JSON.stringify(cluster)}\n`;
      writeFileSync(join(own, 'server.conf'), config);
      return { ...described, name: `nats-${index}` };
    }),
  );
}

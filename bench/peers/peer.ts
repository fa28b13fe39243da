import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { findProgram } from '@customer-platform/deploy/servers/server-binary';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { programsFolder } from '@customer-platform/testkit';

/** A running system of others that is measured beside this one. */
export interface Peer {
  url: string;
  /** The processes whose CPU time counts. */
  pids: number[];
  stop(): Promise<void>;
}

/** Program of a peer to start, on a port of the loopback address. */
interface PeerProgram {
  name: string;
  program: string;
  /** Text of its configuration file, which it is started with. */
  config(port: number, directory: string): string;
  args(configFile: string): string[];
}

/** Starts a peer's program, from PATH or its Debian package, with its files in `directory`. Throws where there is none, or it does not listen. */
export async function startPeerProgram(peer: PeerProgram, directory: string): Promise<Peer> {
  const say = (line: string) => console.log(line);
  const wanted = { program: peer.program, versionArgument: '-v', cacheDirectory: programsFolder(), say };
  const { command, env } = await findProgram(wanted);
  const port = await freePort();
  const configFile = join(directory, `${peer.name}.conf`);
  writeFileSync(configFile, peer.config(port, directory));
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer({
    name: peer.name,
    command,
    args: peer.args(configFile),
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin', ...env },
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, `${peer.name}.json`),
    logFile: join(directory, `${peer.name}.log`),
    url,
    ready: () => listens(url),
  });
  return { url, pids: [server.pid], stop: () => server.stop() };
}

/** Returns whether something responds with HTTP, whatever the status. */
export const listens = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    () => true,
    () => false,
  );

const running = new Set<Peer>();

/** Stops all started peers, for an interrupted bench. */
export async function stopPeers(): Promise<void> {
  await Promise.all([...running].map((peer) => peer.stop()));
}

/** Starts those of the named peers that are on this machine; says which are left out, and why. */
export async function startPeers<Started extends Peer>(
  names: readonly string[],
  start: (name: string) => Promise<Started>,
): Promise<{ name: string; peer: Started }[]> {
  const started: { name: string; peer: Started }[] = [];
  for (const name of names) {
    try {
      const peer = await start(name);
      running.add(peer);
      const stop = async () => {
        if (running.delete(peer)) await peer.stop();
      };
      started.push({ name, peer: { ...peer, stop } });
    } catch (error) {
      console.log(`left out: ${name}: ${(error as Error).message.trim().split('\n').at(-1)}`);
    }
  }
  return started;
}

import { connect, createServer, type Server, type Socket } from 'node:net';
import { isUp } from '@customer-platform/deploy/deployables';
import { joinSockets } from '@customer-platform/testkit';

const probeEveryMs = 200;

/** A process behind a balancer. */
export interface Member {
  port: number;
  /** URL whose 200 says that it takes new connections. */
  readyUrl: string;
}

/** A balancer of connections, as kube-proxy is one: it leads each to one of the ready members in turn, and retries nothing. */
export interface Balancer {
  /** Waits until a member is ready, as the balancer sees it. */
  ready(member: Member): Promise<void>;
  stop(): Promise<void>;
}

/** Balances connections to `port` of this machine. */
export async function startBalancer(port: number, members: readonly Member[]): Promise<Balancer> {
  const ready = new Set<Member>();
  const sockets = new Set<Socket>();
  let turn = 0;
  const server: Server = createServer((socket) => {
    const candidates = members.filter((member) => ready.has(member));
    const member = candidates[turn++ % candidates.length];
    if (!member) {
      socket.destroy();
      return;
    }
    const upstream = connect({ port: member.port, host: '127.0.0.1', noDelay: true });
    socket.setNoDelay(true);
    joinSockets(socket, upstream, sockets);
  });
  let isStopping = false;
  const probing = Promise.all(
    members.map(async (member) => {
      while (!isStopping) {
        if (await isUp(member.readyUrl)) ready.add(member);
        else ready.delete(member);
        await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
      }
    }),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    async ready(member) {
      while (!ready.has(member)) await new Promise((resolve) => setTimeout(resolve, probeEveryMs));
    },
    async stop() {
      isStopping = true;
      await probing;
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

import { startChild } from '../child-process.ts';
import { type Peer, startPeerProgram } from './peer.ts';

/** Gateways of others, with what they check of a request. */
export const gatewayPeers: Readonly<Record<string, string>> = {
  nginx: 'nginx, which checks nothing',
  haproxy: 'HAProxy, which checks nothing',
  fastify: 'Fastify with a key and a rate limit in Redis',
};

/** A key that is known to Fastify's process, and the Redis that it counts in. */
interface Checks {
  key: string;
  redisUrl: string;
}

/** Starts one of `gatewayPeers` in front of `target`, with one thread. Throws where it is not on this machine. */
export async function startGatewayPeer(
  name: string,
  target: string,
  { key, redisUrl, directory }: Checks & { directory: string },
): Promise<Peer> {
  if (name === 'fastify') {
    const { url, pid, stop } = await startChild('fastify-proxy.ts', target, key, redisUrl);
    return { url, pids: [pid], stop };
  }
  return await startPeerProgram(name === 'nginx' ? nginx(target) : haproxy(target), directory);
}

const nginx = (target: string) => ({
  name: 'nginx',
  program: 'nginx',
  config: (port: number, directory: string) => `
    daemon off; master_process off; pid ${directory}/nginx.pid; error_log stderr crit;
    events { worker_connections 512; }
    http {
      access_log off;
      client_body_temp_path ${directory}; proxy_temp_path ${directory}; fastcgi_temp_path ${directory};
      uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
      keepalive_requests 1000000;
      upstream service { server ${new URL(target).host}; keepalive 64; keepalive_requests 1000000; }
      server {
        listen 127.0.0.1:${port};
        location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; }
      }
    }`,
  args: (file: string) => ['-e', 'stderr', '-c', file],
});

const haproxy = (target: string) => ({
  name: 'haproxy',
  program: 'haproxy',
  config: (port: number) => `
global
  nbthread 1
  maxconn 512
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend public
  bind 127.0.0.1:${port}
  default_backend service
backend service
  http-reuse always
  server service ${new URL(target).host}
`,
  args: (file: string) => ['-db', '-f', file],
});

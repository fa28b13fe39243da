import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { testCertificate } from '@customer-platform/testkit/test-certificate';

/** Request through the proxy. */
export interface Sent {
  method?: string;
  path: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** Response through the proxy. */
export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Client of the proxy with one keep-alive connection. */
export class ProxyClient {
  readonly #url: string;
  readonly #agent: Agent;

  /** @param localAddress the client's address */
  constructor(url: string, localAddress = '127.0.0.1') {
    this.#url = url;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: testCertificate, localAddress });
  }

  async send(sent: Sent): Promise<Received> {
    const response = await this.open(sent);
    return { status: response.statusCode!, headers: response.headers, text: await text(response) };
  }

  /** Sends a request and returns once its response has begun. */
  async open({ method = 'GET', path, key, headers = {}, body }: Sent): Promise<IncomingMessage> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { method, agent: this.#agent, headers: { ...authorization, ...type, ...headers } };
    const sending = request(this.#url + path, options);
    sending.end(body);
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    return response;
  }

  /** Sends requests one after another. Returns the milliseconds that each took. */
  async timesOf(count: number, sent: Sent): Promise<number[]> {
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const beganMs = performance.now();
      const { status } = await this.send(sent);
      if (status !== 200) throw new Error(`the request failed with status ${status}`);
      times.push(performance.now() - beganMs);
    }
    return times;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Writes text to a new connection. Returns everything received until it closes or is reset. */
export async function writeRaw(url: string, written: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), ca: testCertificate });
  socket.write(written);
  let read = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (read += chunk));
  // The proxy resets a connection after it rejects a partly read request.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return read;
}

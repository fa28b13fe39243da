import { connect } from 'node:net';

/** The response received over one connection. */
export interface RawReply {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Everything received, including 100 Continue and further responses. */
  all: string;
}

/**
 * Writes bytes unchanged and reads until the server closes the connection, so send `Connection: close` or an invalid
 * request. Writes `whenContinued` after 100 Continue.
 */
export function sendRaw(url: string, head: string, whenContinued?: string, timeoutMs = 5_000): Promise<RawReply> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head));
    let all = '';
    let waiting = whenContinued;
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no end within ${timeoutMs} ms; so far: ${all}`)));
    socket.on('data', (chunk) => {
      all += chunk.toString('latin1');
      if (waiting !== undefined && all.startsWith('HTTP/1.1 100')) {
        socket.write(waiting);
        waiting = undefined;
      }
    });
    socket.on('error', (error) => (all === '' ? reject(error) : resolve(parse(all))));
    socket.on('close', () => resolve(parse(all)));
  });
}

function parse(all: string): RawReply {
  const final = all.replace(/^HTTP\/1\.1 100[\s\S]*?\r\n\r\n/, '');
  const end = final.indexOf('\r\n\r\n');
  const [statusLine, ...lines] = final.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(statusLine!.split(' ')[1]), headers, body: final.slice(end + 4), all };
}

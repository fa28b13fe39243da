import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';

/** Time for a dial until the server has said who it is: the client gives one up after 2 s, and forgets to close it. */
const dialMs = 5_000;

/** The parts of a server's first line that say where else it can be reached. */
const elsewhere = ['connect_urls', 'ws_connect_urls'];

/**
 * Has NATS' client close what it dials in vain; and has connections that are to be encrypted be so before anything is sent on them, to the server that was dialled, and
 * everything that is read of one come encrypted, but for the server's first line. The client believes what that says: whoever stands between could say that there is
 * no TLS or that other servers are to be dialled, and get the password, or add messages behind it.
 */
export function guardTransport(): void {
  const { connect } = NodeTransport.prototype;
  NodeTransport.prototype.connect = async function guarded(this: NodeTransport, server, options) {
    const { tls } = options;
    const tooLate = setTimeout(() => this.discard(), dialMs);
    // Otherwise the certificate of a server that is dialled by its address is asked for localhost.
    const checked = tls ? { ...options, tls: { host: server.tlsName || server.hostname, ...tls } } : options;
    await connect.call(this, server, checked).finally(() => clearTimeout(tooLate));
    if (!tls) return;
    if (!this.isEncrypted()) {
      this.discard();
      throw new Error('NATS did not begin TLS, which NATS_URL or NATS_TLS_CA_FILE asks for');
    }
    this.yields = [firstLine(Buffer.concat(this.yields))];
  };
}

/** Returns the first line that was read, `INFO {…}`, without what may lead elsewhere. */
function firstLine(read: Buffer): Buffer {
  const line = read.subarray(0, read.indexOf('\n')).toString();
  const said = JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>;
  const kept = Object.entries(said).filter(([name]) => !elsewhere.includes(name));
  return Buffer.from(`INFO ${JSON.stringify(Object.fromEntries(kept))}\r\n`);
}

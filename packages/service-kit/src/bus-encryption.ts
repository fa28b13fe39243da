import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';

/**
 * Has connections to NATS that are to be encrypted be so before anything is sent on them, and everything that is read of one come encrypted, but for the server's first
 * line. NATS' client believes what that says of TLS: whoever stands between could say that there is none and get the password, or add messages to it.
 */
export function refuseUnencrypted(): void {
  const { connect } = NodeTransport.prototype;
  NodeTransport.prototype.connect = async function encrypted(this: NodeTransport, ...args) {
    await connect.apply(this, args);
    if (!this.options.tls) return;
    if (!this.isEncrypted()) {
      this.discard();
      throw new Error('NATS did not begin TLS, which NATS_URL or NATS_TLS_CA_FILE asks for');
    }
    const read = Buffer.concat(this.yields);
    this.yields = [read.subarray(0, read.indexOf('\n') + 1)];
  };
}

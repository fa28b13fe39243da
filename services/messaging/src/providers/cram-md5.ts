import { createHmac } from 'node:crypto';
import type SmtpConnection from 'nodemailer/lib/smtp-connection';

type Handlers = NonNullable<NonNullable<ConstructorParameters<typeof SmtpConnection>[0]>['customAuth']>;

/** Longest line of a challenge in bytes, as long as a line of SMTP may be (RFC 5321, 4.5.3.1). */
const maxChallengeLength = 1_000;

/**
 * The login by CRAM-MD5 (RFC 2195), at servers that offer neither PLAIN nor LOGIN. The mail client's own reads the challenge by a pattern whose time
 * grows with the square of its length: 200 ms for what a server may send.
 */
export const cramMd5: Handlers = {
  async 'CRAM-MD5'({ auth: { credentials }, sendCommand }) {
    const { status, response } = await sendCommand('AUTH CRAM-MD5');
    if (status !== 334 || response.length > maxChallengeLength) throw new Error('The server sent no challenge');
    const challenge = Buffer.from(response.slice('334 '.length), 'base64');
    const digest = createHmac('md5', credentials?.pass ?? '')
      .update(challenge)
      .digest('hex');
    const { status: outcome } = await sendCommand(Buffer.from(`${credentials?.user} ${digest}`).toString('base64'));
    if (outcome !== 235) throw new Error('Invalid login');
  },
};

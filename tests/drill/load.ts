import { randomUUID } from 'node:crypto';
import { type Received, type Receiver, rawRequest, waitFor } from '@customer-platform/testkit';

const intervalMs = 100;
const maxUnderWay = 64;
const requestMs = 30_000;
/** Maximum concurrent requests when accepted contacts are looked up. */
const lookUps = 8;
const proofMs = 60_000;

/** Requests accepted and refused since the load began. */
export interface Counts {
  accepted: number;
  refused: number;
}

/** Returns the contact of a webhook. */
export const contactOf = ({ body }: Received): string => (JSON.parse(body) as Envelope).data.contact.id;
interface Envelope {
  data: { contact: { id: string } };
}

/** A small steady load that creates contacts of two accounts. Remembers accepted contacts, and proves that none is lost. */
export class Load {
  readonly #gatewayUrl: string;
  readonly #keys: string[];
  readonly #timer: NodeJS.Timeout;
  readonly #underWay = new Set<Promise<void>>();
  /** Keys by the id of the contact that they created. */
  readonly #accepted = new Map<string, string>();
  #unproven: string[] = [];
  #refused = 0;
  #sent = 0;

  constructor(gatewayUrl: string, keys: string[]) {
    this.#gatewayUrl = gatewayUrl;
    this.#keys = keys;
    this.#timer = setInterval(() => this.#send(), intervalMs);
  }

  get counts(): Counts {
    return { accepted: this.#accepted.size, refused: this.#refused };
  }

  /** Returns the contacts that were accepted with a key, oldest first. */
  acceptedBy(key: string): string[] {
    return [...this.#accepted].flatMap(([id, by]) => (by === key ? [id] : []));
  }

  /**
   * Waits until each contact accepted since the last proof is stored and its webhook has arrived at `receiver`. Returns their number.
   * @throws Error that says what is missing
   */
  async prove(receiver: Receiver): Promise<number> {
    const accepted = this.#unproven;
    this.#unproven = [];
    await this.#requireStored(accepted);
    await requireWebhooks(receiver, accepted);
    return accepted.length;
  }

  async #requireStored(ids: readonly string[]): Promise<void> {
    const left = [...ids];
    const lookUp = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        const path = `/v1/cdp/contacts/${id}`;
        const key = this.#accepted.get(id)!;
        await waitFor(`${path}, which was accepted`, async () => {
          return (await rawRequest(this.#gatewayUrl, 'GET', path, { key })).status === 200;
        });
      }
    };
    await Promise.all(Array.from({ length: lookUps }, lookUp));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
  }

  #send(): void {
    if (this.#underWay.size >= maxUnderWay) return;
    const key = this.#keys[this.#sent++ % this.#keys.length]!;
    const sending = this.#createContact(key).finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  async #createContact(key: string): Promise<void> {
    try {
      const response = await fetch(`${this.#gatewayUrl}/v1/cdp/contacts`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': randomUUID(),
        },
        body: JSON.stringify({ name: 'Drill' }),
        signal: AbortSignal.timeout(requestMs),
      });
      const { id } = (await response.json()) as { id?: string };
      if (response.status !== 201 || id === undefined) {
        this.#refused += 1;
        return;
      }
      this.#accepted.set(id, key);
      this.#unproven.push(id);
    } catch {
      this.#refused += 1; // no response: the platform promised nothing
    }
  }
}

/** Waits until a receiver has the webhook of each contact. Repeated webhooks must have the same webhook-id. */
export async function requireWebhooks(receiver: Receiver, contacts: readonly string[]): Promise<void> {
  const missing = () => {
    const got = new Set(receiver.received.map(contactOf));
    return contacts.filter((id) => !got.has(id));
  };
  await waitFor('webhooks', () => missing().length === 0, proofMs).catch((cause: unknown) => {
    throw new Error(`${missing().length} of ${contacts.length} webhooks did not arrive`, { cause });
  });
  const wanted = new Set(contacts);
  const ids = new Map<string, unknown>();
  for (const request of receiver.received) {
    const contact = contactOf(request);
    if (!wanted.has(contact)) continue;
    const id = request.headers['webhook-id'];
    if (ids.has(contact) && ids.get(contact) !== id)
      throw new Error(`the webhook of ${contact} arrived with two webhook-ids`);
    ids.set(contact, id);
  }
}

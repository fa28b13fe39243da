import { findOrCreateContact } from '@customer-platform/contracts/cdp';
import { messageReceived } from '@customer-platform/contracts/messaging';
import { type Foundation, formatInstant, inWorkTransaction, WakeLoop } from '@customer-platform/service-kit';
import { addressOfSender } from '../messages/sender-address.ts';
import { claimInbound, endInbound, type InboundRow, postponeInbound } from './inbound.sql.ts';

/** How late something is looked for that no wake told of. */
const everyMs = 500;
const slowestRetryMs = 10_000;
/** Longer than asking takes: how late something goes on that a killed process had claimed. */
const leaseMs = 10_000;
const batchSize = 20;
/** An account with so many in one batch has a share of its own from then on, beside that of all others, until nothing of it is due. */
const busyFrom = 5;
const busyBatchSize = 10;
const maxBusy = 100;
const longestWaitMs = 300_000;

/**
 * Tells of what customers wrote: customer data is asked whose it is, and makes a contact of somebody new; then the event is written. No
 * transaction is open while it is asked. Any number of processes may do so.
 */
export class InboundAnnouncer {
  readonly #foundation: Foundation;
  readonly #loop: WakeLoop;
  readonly #busy = new Set<string>();

  constructor(foundation: Foundation) {
    this.#foundation = foundation;
    this.#loop = new WakeLoop('inbound', { everyMs, slowestRetryMs, log: foundation.log }, () => this.#announce());
  }

  /** Says that something came in. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #announce(): Promise<boolean> {
    if (!this.#foundation.bus.isConnected()) return false;
    const accounts = [...this.#busy];
    const ofOthers = await this.#announceDue({ accounts, isOfOthers: true, limit: batchSize });
    for (const id of busyAccounts(ofOthers)) if (this.#busy.size < maxBusy) this.#busy.add(id);
    if (accounts.length === 0) return ofOthers.length === batchSize;
    const ofBusy = await this.#announceDue({ accounts, isOfOthers: false, limit: busyBatchSize });
    if (ofBusy.length === 0) for (const id of accounts) this.#busy.delete(id);
    return ofOthers.length === batchSize || ofBusy.length > 0;
  }

  async #announceDue(share: Parameters<typeof claimInbound>[3]): Promise<InboundRow[]> {
    const { sql, clock, log } = this.#foundation;
    const now = clock();
    const claimed = await claimInbound(sql, now, new Date(now.getTime() + leaseMs), share);
    for (const row of claimed) {
      try {
        await this.#announceOne(row);
      } catch (error) {
        log.warn({ err: error, inbound: row.id }, 'an inbound message could not be told of; it is tried again');
        const ageMs = clock().getTime() - row.arrived_at.getTime();
        await postponeInbound(sql, row, new Date(clock().getTime() + Math.min(1_000 + ageMs, longestWaitMs)));
      }
    }
    return claimed;
  }

  /** The country as one of which the account's numbers are read. */
  async #countryOf(accountId: string): Promise<string> {
    const { accounts } = this.#foundation;
    if (accounts.known(accountId) === undefined) await accounts.learn([accountId]);
    return accounts.known(accountId)?.country ?? '';
  }

  async #announceOne(row: InboundRow): Promise<void> {
    const { bus, log } = this.#foundation;
    const address = addressOfSender(row.sender, await this.#countryOf(row.account_id));
    if (!address) log.info({ inbound: row.id }, 'the sender of an inbound message is no address: nobody can answer it');
    const answer =
      address && (await bus.ask(findOrCreateContact, row.account_id, { ...address, name: row.sender_name }));
    await inWorkTransaction({ ...this.#foundation, resources: undefined }, async ({ tx, emit, findAccounts }) => {
      const account = findAccounts([row.account_id]).get(row.account_id);
      const contact = account && answer ? answer.contact : null;
      if (!(await endInbound(tx, row, contact?.id ?? null)) || !account || !contact) return;
      const { id, channel, sender, body } = row;
      const message = { id, channel, from: sender, body, at: formatInstant(row.at, account.timezone) };
      emit(messageReceived, account, { message, contact });
    });
  }
}

function busyAccounts(claimed: readonly InboundRow[]): string[] {
  const byAccount = Map.groupBy(claimed, ({ account_id }) => account_id);
  return [...byAccount].filter(([, rows]) => rows.length >= busyFrom).map(([id]) => id);
}

import { type Bus, type Logger, LRUCache } from '@customer-platform/service-kit';
import { z } from 'zod';

const topic = 'gateway-addresses';
/** Most blocks in one message, to a gateway that has just started. */
const maxTold = 500;
const maxBlocks = 20_000;
/** Accounts whose valid keys make an address a shared one. */
export const sharedFrom = 3;
/** Bounds of what is believed of another gateway: a message may be forged by a service that was taken over. */
const maxAddressLength = 50;
/** Longest block; for as long an unblock is remembered, since gateways may not have heard of it. */
const maxLeftMs = 60_000;
const maxAccounts = 10;

/** An address (IPv6: a network) that is blocked, and until when. */
export interface AddressBlock {
  address: string;
  invalidKeys: number;
  /** End of the block: as shown, and on the monotonic clock. */
  until: Date;
  untilMs: number;
  /** Accounts whose valid keys came from it. */
  accounts: Set<string>;
  /** Time, on the monotonic clock, from which a further key from it is looked up in the database. */
  lookUpFromMs: number;
}

const ToldBlock = z.object({
  address: z.string().max(maxAddressLength),
  invalidKeys: z.int(),
  until: z.iso.datetime(),
  leftMs: z.number().max(maxLeftMs),
  accounts: z.array(z.string().max(100)).max(maxAccounts),
});
type ToldBlock = z.infer<typeof ToldBlock>;

const Message = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ask') }),
  z.object({ kind: z.literal('blocks'), blocks: z.array(ToldBlock).max(maxTold), isNew: z.boolean() }),
  z.object({
    kind: z.literal('unblock'),
    address: z.string().max(maxAddressLength),
    ageMs: z.number().min(0).max(maxLeftMs).default(0),
  }),
]);
type Message = z.infer<typeof Message>;

/** Returns whether a blocked address is a shared one, whose valid keys pass. */
export function isShared({ accounts }: AddressBlock): boolean {
  return accounts.size >= sharedFrom;
}

/** Source of what this gateway knows of the addresses. */
interface Knowledge {
  /** Accounts whose valid keys came from an address to this gateway lately. */
  accountsAt(address: string): string[];
  unblocked(address: string): void;
}

/** Blocked addresses, the same on all gateways: each announces what it blocks and unblocks. */
export class BlockedAddresses {
  readonly #bus: Bus;
  readonly #clock: () => Date;
  readonly #knowledge: Knowledge;
  readonly #blocks = new LRUCache<string, AddressBlock>({ max: maxBlocks });
  /** Addresses that were unblocked lately and not blocked again since, with the time of that on the monotonic clock. */
  readonly #unblocked = new LRUCache<string, number>({ max: maxBlocks, ttl: maxLeftMs });

  /** Subscribes to other gateways' blocks, and asks for the existing ones. */
  constructor(bus: Bus, log: Logger, clock: () => Date, knowledge: Knowledge) {
    this.#bus = bus;
    this.#clock = clock;
    this.#knowledge = knowledge;
    bus.listen(topic, (payload) => {
      try {
        this.#hear(Message.parse(JSON.parse(payload)));
      } catch (error) {
        log.warn({ err: error }, 'invalid message about blocked addresses');
      }
    });
    this.#tell({ kind: 'ask' });
    // What the others, or this one, said meanwhile was not heard.
    bus.onBack(() => {
      this.#tell({ kind: 'ask' });
      this.#tellAll();
    });
  }

  get isEmpty(): boolean {
    return this.#blocks.size === 0;
  }

  find(address: string): AddressBlock | undefined {
    const block = this.#blocks.get(address);
    if (block === undefined || block.untilMs > performance.now()) return block;
    this.#blocks.delete(address);
    return undefined;
  }

  /** Blocks an address on all gateways. */
  add(address: string, invalidKeys: number, forMs: number): AddressBlock {
    const until = new Date(this.#clock().getTime() + forMs).toISOString();
    const told = { address, invalidKeys, until, leftMs: forMs, accounts: this.#knowledge.accountsAt(address) };
    this.#tell({ kind: 'blocks', blocks: [told], isNew: true });
    return this.#set(told);
  }

  /** Adds an account whose valid key came from a blocked address, on all gateways. */
  addAccount(block: AddressBlock, account: string): void {
    if (block.accounts.has(account)) return;
    block.accounts.add(account);
    this.#tell({ kind: 'blocks', blocks: [toTold(block)], isNew: false });
  }

  /** Unblocks an address on all gateways; returns false if it is not blocked. */
  remove(address: string): boolean {
    if (!this.find(address)) return false;
    this.#unblock(address, 0);
    this.#tell({ kind: 'unblock', address, ageMs: 0 });
    return true;
  }

  /** Returns all blocks, those that end last first. */
  list(): AddressBlock[] {
    const nowMs = performance.now();
    for (const block of [...this.#blocks.values()]) if (block.untilMs <= nowMs) this.#blocks.delete(block.address);
    return [...this.#blocks.values()].sort((a, b) => b.untilMs - a.untilMs || (a.address < b.address ? -1 : 1));
  }

  #hear(message: Message): void {
    if (message.kind === 'unblock') {
      this.#unblock(message.address, message.ageMs);
    } else if (message.kind === 'blocks') {
      const isOld = ({ address }: ToldBlock) => !message.isNew && this.#unblocked.has(address);
      for (const told of message.blocks) if (!isOld(told)) this.#set(told);
      if (message.isNew) this.#addAccounts(message.blocks);
    } else {
      this.#tellAll();
    }
  }

  /** Tells what is blocked, and what was unblocked. */
  #tellAll(): void {
    if (!this.isEmpty) this.#tell({ kind: 'blocks', blocks: this.list().slice(0, maxTold).map(toTold), isNew: false });
    const nowMs = performance.now();
    for (const [address, atMs] of [...this.#unblocked.entries()].slice(0, maxTold)) {
      this.#tell({ kind: 'unblock', address, ageMs: Math.min(nowMs - atMs, maxLeftMs) });
    }
  }

  /** Unblocks an address since so many milliseconds ago: one that was blocked again since is still blocked. */
  #unblock(address: string, ageMs: number): void {
    const atMs = performance.now() - ageMs;
    const block = this.#blocks.get(address);
    if (block ? block.untilMs - maxLeftMs > atMs : this.#unblocked.has(address)) return;
    this.#blocks.delete(address);
    this.#unblocked.set(address, atMs, { start: atMs });
    this.#knowledge.unblocked(address);
  }

  /**
   * Adds the accounts that this gateway has seen at new blocks: requests of one address are spread over the gateways.
   */
  #addAccounts(blocks: readonly ToldBlock[]): void {
    for (const { address, accounts } of blocks) {
      const block = this.#blocks.get(address)!;
      const more = this.#knowledge.accountsAt(address).filter((account) => !accounts.includes(account));
      if (more.length === 0) continue;
      for (const account of more) block.accounts.add(account);
      this.#tell({ kind: 'blocks', blocks: [toTold(block)], isNew: false });
    }
  }

  #set({ address, invalidKeys, until, leftMs, accounts }: ToldBlock): AddressBlock {
    const known = this.find(address);
    const end = new Date(until);
    // Told again, one block ends when it did: by the time that messages take it would seem newer than its unblock.
    const isSame = known?.until.getTime() === end.getTime();
    const block: AddressBlock = {
      address,
      invalidKeys: Math.max(invalidKeys, known?.invalidKeys ?? 0),
      until: end,
      untilMs: isSame ? known.untilMs : performance.now() + leftMs,
      accounts: new Set([...new Set([...(known?.accounts ?? []), ...accounts])].slice(0, sharedFrom)),
      lookUpFromMs: known?.lookUpFromMs ?? 0,
    };
    this.#blocks.set(address, block);
    this.#unblocked.delete(address);
    return block;
  }

  #tell(message: Message): void {
    this.#bus.announce(topic, JSON.stringify(message));
  }
}

function toTold({ address, invalidKeys, until, untilMs, accounts }: AddressBlock): ToldBlock {
  const leftMs = untilMs - performance.now();
  return { address, invalidKeys, until: until.toISOString(), leftMs, accounts: [...accounts] };
}

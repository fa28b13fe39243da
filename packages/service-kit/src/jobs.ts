import type { AccountContext, EventData, EventDefinition } from '@customer-platform/contracts/core';
import { type Database, inTransaction, type Sql } from './database.ts';
import type { Logger } from './logging.ts';
import { type EventAccount, type OutboxRow, outboxRow, writeOutbox } from './outbox.ts';

/** What work that no request started gets: consumers, jobs. */
export interface WorkCall<Resources> {
  tx: Sql;
  now: Date;
  log: Logger;
  resources: Resources;
  /** Publishes an event with this transaction, as the account that it belongs to. */
  emit<Event extends EventDefinition>(event: Event, account: EventAccount, data: EventData<Event>): void;
  /** Finds an account by id; asks the gateway at most once a minute each. */
  findAccount(accountId: string): Promise<AccountContext>;
}

/** Work that is looked for again and again: due rows, retention. Any number of processes may run the same job. */
export interface Job<Resources> {
  name: string;
  /** The pause after a round that found nothing more. */
  everyMs: number;
  /**
   * One round in one transaction, bounded in rows: claims with `for update skip locked` what it does.
   * Answers whether more may be waiting: then the next round follows at once.
   */
  run(call: WorkCall<Resources>): Promise<boolean>;
}

/** What a process lends its consumers and jobs. */
export interface WorkContext<Resources> {
  sql: Database;
  log: Logger;
  clock: () => Date;
  resources: Resources;
  findAccount(accountId: string): Promise<AccountContext>;
  eventsCommitted(): void;
}

/** Runs `work` in one transaction with what it emits; says so after the commit. */
export async function inWorkTransaction<Resources, Result>(
  context: WorkContext<Resources>,
  work: (call: WorkCall<Resources>) => Promise<Result>,
): Promise<Result> {
  const events: OutboxRow[] = [];
  const { sql, log, clock, resources, findAccount } = context;
  const now = clock();
  const result = await inTransaction(sql, async (tx) => {
    const answer = await work({
      tx,
      now,
      log,
      resources,
      findAccount,
      emit: (event, account, data) => events.push(outboxRow(event, account, data, now)),
    });
    await writeOutbox(tx, events);
    return answer;
  });
  if (events.length > 0) context.eventsCommitted();
  return result;
}

/** Runs one job until stopped; a failed round is logged and tried again, later each time up to a minute. */
export class JobRunner<Resources> {
  readonly #job: Job<Resources>;
  readonly #context: WorkContext<Resources>;
  readonly #loop: Promise<void>;
  #wake: (() => void) | undefined;
  #stopping = false;

  constructor(job: Job<Resources>, context: WorkContext<Resources>) {
    this.#job = job;
    this.#context = { ...context, log: context.log.child({ job: job.name }) };
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    this.#wake?.();
    await this.#loop;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopping) {
      let more = false;
      try {
        more = await inWorkTransaction(this.#context, (call) => this.#job.run(call));
        failures = 0;
      } catch (error) {
        failures++;
        this.#context.log.error({ err: error, failures }, 'a round of a job failed; it is tried again');
      }
      if (!more) await this.#pause(failures > 0 ? Math.min(1_000 * 2 ** failures, 60_000) : this.#job.everyMs);
    }
  }

  #pause(delayMs: number): Promise<void> {
    if (this.#stopping) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

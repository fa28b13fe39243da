import { operations } from '@customer-platform/contracts';
import { examples, parameterExamples } from '@customer-platform/contracts/examples';
import type { TestAccount } from '@customer-platform/testkit';
import { bodyOf } from './body-of.ts';

const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);

/** External addresses in examples, and local replacements for tests. */
const addresses: Record<string, string> = {
  'https://hooks.salon-aurora.example/customer-platform': 'http://127.0.0.1:9/',
  'https://ai.example.com/v1': 'http://127.0.0.1:9/v1',
  'smtp.salon-aurora.example': '127.0.0.1',
};

/** Sends the contracts' examples to a sandbox. Replaces the examples' ids with those of the created resources. */
export class Story {
  /** Keys of the operations that were sent. */
  readonly sent = new Set<string>();
  /** Integer ids by parameter, such as `booking_type_id`. */
  readonly numbers: Record<string, number> = {};
  /** Replacements of strings in examples: UUIDs, addresses and times. */
  readonly texts = new Map<string, string>(Object.entries(addresses));
  readonly #account: TestAccount;

  constructor(account: TestAccount) {
    this.#account = account;
  }

  /** Sends an operation's example and returns the response's body. Its ids replace the example's unless `isOther`. Throws if it fails. */
  // biome-ignore lint/suspicious/noExplicitAny: responses of every operation
  async send(key: string, { isOther = false } = {}): Promise<any> {
    const operation = operations.find((each) => each.key === key)!;
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(this.#parameter(name)),
    );
    const example = this.#replaced(examples[key]?.body ?? {});
    const options = operation.body ? bodyOf(operation, example) : {};
    const response = await this.#account.request(operation.method, path, { ...options, key: this.#account.testKey });
    if (response.status !== operation.status) throw new Error(`${key} is ${response.status}: ${response.text}`);
    if (!isOther) this.#learn(examples[key]?.response, response.body);
    this.sent.add(key);
    return response.body;
  }

  #parameter(name: string): string {
    const example = String(parameterExamples[name]);
    return String(this.numbers[name] ?? this.texts.get(example) ?? example);
  }

  /** Maps the ids in an example to the ids at the same places of the response. */
  #learn(example: unknown, response: unknown): void {
    if (isId(example) && isId(response)) this.texts.set(example, response);
    if (typeof example !== 'object' || example === null || typeof response !== 'object' || response === null) return;
    for (const [name, value] of Object.entries(example))
      this.#learn(value, (response as Record<string, unknown>)[name]);
  }

  #replaced(example: unknown): unknown {
    const { booking_type_id, collection_id, sales_id, stage_id } = this.numbers;
    const numbers: Record<string, unknown> = {
      booking_type: booking_type_id,
      collection: collection_id,
      pipelines: [sales_id],
      stage: stage_id,
    };
    return JSON.parse(JSON.stringify(example), (name, value: unknown) =>
      typeof value === 'string' ? (this.texts.get(value) ?? value) : (numbers[name] ?? value),
    );
  }
}

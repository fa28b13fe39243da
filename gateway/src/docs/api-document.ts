import { describeServices } from '@customer-platform/contracts/api-document';
import { ownerOf, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { type ApiDocument, mergedDocuments } from '@customer-platform/contracts/merged-documents';
import type { AnnouncedOperations } from '../routes/announced-operations.ts';

/** The OpenAPI document of the operations that the gateway routes. It changes when services announce operations. */
export class CurrentApiDocument {
  readonly #routes: AnnouncedOperations;
  #own: Promise<Map<ServiceName, string>> | undefined;
  #made: { version: number; text: Promise<string> } | undefined;

  constructor(routes: AnnouncedOperations) {
    this.#routes = routes;
  }

  /** Returns the document as JSON. Throws if this gateway cannot describe its own contracts. */
  text(): Promise<string> {
    const { version } = this.#routes;
    if (this.#made?.version !== version) {
      const text = this.#make();
      this.#made = { version, text };
      text.catch(() => {
        this.#made = undefined;
      });
    }
    return this.#made.text;
  }

  async #make(): Promise<string> {
    this.#own ??= describeServices(serviceNames).catch((error: unknown) => {
      this.#own = undefined;
      throw error;
    });
    const own = await this.#own;
    const parts = [];
    for (const service of serviceNames) {
      const text = (await this.#routes.documentOf(service)) ?? own.get(service)!;
      const document = JSON.parse(text) as ApiDocument;
      parts.push({ service, document: this.#routedPart(service, document) });
    }
    return JSON.stringify(mergedDocuments(parts));
  }

  /** Returns a part without operations that the gateway does not route, and without events that another service publishes. */
  #routedPart(service: ServiceName, part: ApiDocument): ApiDocument {
    const routed = new Set(this.#routes.of(service).map(({ method, path }) => `${method.toLowerCase()} ${path}`));
    const paths = Object.entries(part.paths ?? {}).flatMap(([path, operations]) => {
      const kept = Object.entries(operations).filter(([method]) => routed.has(`${method} ${path}`));
      return kept.length > 0 ? [[path, Object.fromEntries(kept)] as const] : [];
    });
    const webhooks = Object.entries(part.webhooks ?? {}).filter(([kind]) => ownerOf(kind) === service);
    return { ...part, paths: Object.fromEntries(paths), webhooks: Object.fromEntries(webhooks) };
  }
}

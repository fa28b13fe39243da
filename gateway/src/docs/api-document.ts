import { describeServices } from '@customer-platform/contracts/api-document';
import { ownerOf, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { type ApiDocument, mergedDocuments } from '@customer-platform/contracts/merged-documents';
import type { Logger } from '@customer-platform/service-kit';
import type { AnnouncedOperations } from '../routes/announced-operations.ts';

/** The OpenAPI document of what the gateway routes to: it changes with what services announce. */
export class CurrentApiDocument {
  readonly #routes: AnnouncedOperations;
  readonly #log: Logger;
  #own: Promise<Map<ServiceName, string>> | undefined;
  #made: { version: number; text: Promise<string> } | undefined;

  constructor(routes: AnnouncedOperations, log: Logger) {
    this.#routes = routes;
    this.#log = log;
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
      const announced = await this.#announcedPart(service);
      const document = announced ?? (JSON.parse(own.get(service)!) as ApiDocument);
      parts.push({ service, document: this.#routedPart(service, document) });
    }
    return JSON.stringify(mergedDocuments(parts));
  }

  /** Returns a service's own part; undefined where it has none, or one that cannot be read. */
  async #announcedPart(service: ServiceName): Promise<ApiDocument | undefined> {
    try {
      const text = await this.#routes.documentOf(service);
      if (text === undefined) return undefined;
      const { paths, webhooks, components } = JSON.parse(text) as Partial<Record<string, unknown>>;
      return { paths: mapsIn(paths), webhooks: mapsIn(webhooks), components: mapsIn(components) };
    } catch (error) {
      this.#log.warn({ err: error, service }, "a service's description of its operations cannot be read");
      return undefined;
    }
  }

  /** Returns a part without what the gateway does not route, or another service publishes. */
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

/** Returns the entries of a value that are objects, as an object of objects. */
function mapsIn(value: unknown): Record<string, Record<string, unknown>> {
  const isObject = (each: unknown) => typeof each === 'object' && each !== null && !Array.isArray(each);
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value as object).filter(([, each]) => isObject(each)));
}

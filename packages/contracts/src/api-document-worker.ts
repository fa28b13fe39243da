import { parentPort, workerData } from 'node:worker_threads';
import type { ServiceName } from './core/modules.ts';
import { openApiPart } from './openapi.ts';

const services = workerData as ServiceName[];
parentPort!.postMessage(services.map((service) => [service, JSON.stringify(openApiPart(service))]));

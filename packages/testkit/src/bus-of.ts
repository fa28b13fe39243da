import { Bus, createLogger } from '@customer-platform/service-kit';
import type { Platform } from './platform.ts';

/** Connects to a platform's bus as one of its services. The caller closes the bus. */
export function busOf(platform: Platform, service: string): Promise<Bus> {
  const { NATS_URL, BUS_PREFIX } = platform.env(service);
  return Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service, log: createLogger(service, 'error') });
}

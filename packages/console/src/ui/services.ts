import type { ServiceName } from '@customer-platform/contracts/core';

/** Every service, to choose from: the contract's list as a value would bring its schemas along. */
const services: Record<ServiceName, true> = {
  gateway: true,
  calendar: true,
  agents: true,
  cdp: true,
  catalogue: true,
  crm: true,
  messaging: true,
  webhooks: true,
};
export const serviceNames = Object.keys(services);

/** Returns a service's name, undefined if it is none. */
export function serviceNamed(name: string | undefined): ServiceName | undefined {
  return serviceNames.includes(name ?? '') ? (name as ServiceName) : undefined;
}

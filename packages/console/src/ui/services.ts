import type { ServiceName } from '@customer-platform/contracts/core';

/** All services. Importing the contract's list as a value would bundle its schemas. */
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

/** Returns a string as a service's name; undefined if there is no such service. */
export function serviceNamed(name: string | undefined): ServiceName | undefined {
  return serviceNames.includes(name ?? '') ? (name as ServiceName) : undefined;
}

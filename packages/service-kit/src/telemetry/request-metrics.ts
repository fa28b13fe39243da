import { meter } from './meter.ts';

/** Time to respond, at every listener of the process. */
export const requestDuration = meter.createHistogram('http.server.request.duration', {
  unit: 's',
  description: 'Time to respond, by method, route and status.',
});

/** Requests in progress, at every listener of the process. */
export const activeRequests = meter.createUpDownCounter('http.server.active_requests', {
  unit: '{request}',
  description: 'Requests in progress, by method.',
});

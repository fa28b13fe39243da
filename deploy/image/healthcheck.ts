/** Exits with 0 when this container's process responds 200 to /readyz within four seconds, else with 1. */
const port = process.env.GATEWAY_PORT || process.env.PORT;
const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(4_000) }).catch(
  (error: Error) => ({ status: error.message }),
);
if (response.status !== 200) {
  console.error(`/readyz on port ${port}: ${response.status}; expected 200`);
  process.exit(1);
}
process.exit(0);

export {};

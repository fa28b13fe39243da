import { forPage, forSandbox } from './sandbox.js';

const [described, { key }] = await Promise.all(
  ['/v1/openapi.json', '/docs/key.json'].map(async (url) => (await fetch(url)).json()),
);
const content = forPage(described, location.origin);
Scalar.createApiReference('#api', {
  content: key ? await forSandbox(content, key) : content,
  authentication: {
    preferredSecurityScheme: 'bearer',
    securitySchemes: { bearer: { token: key ?? '' } },
  },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  documentDownloadType: 'json',
  // All of it comes from here, and nothing is sent elsewhere.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
});

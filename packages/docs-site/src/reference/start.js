import './nonce.js';
import { anchorsOf, followAnchors, slugs } from './anchors.js';
import { forPage } from './for-page.js';
import { addSamples } from './samples.js';
import { forSandbox } from './sandbox.js';

const getJson = async (url) => (await fetch(url)).json();

/** Loads the script that draws the reference; it is no module. */
function loadScalar() {
  const { promise, resolve, reject } = Promise.withResolvers();
  const script = document.createElement('script');
  Object.assign(script, { src: '/docs/reference/scalar.js', onload: resolve, onerror: reject });
  document.head.append(script);
  return promise;
}

/** Returns the document as it is shown here: with examples of the sandbox whose key there is. */
async function shownDocument(described, key) {
  const page = forPage(described, location.origin);
  const shown = key ? await forSandbox(page, key) : page;
  addSamples(shown, location.origin);
  return shown;
}

/** Gives the reference the site's theme, now and whenever it is changed: Scalar sets the classes once, and does not change them later. */
function followTheme() {
  const follow = () => {
    const isDark = document.documentElement.dataset.theme === 'dark';
    document.body.classList.toggle('dark-mode', isDark);
    document.body.classList.toggle('light-mode', !isDark);
  };
  new MutationObserver(follow).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  follow();
}

const [described, { key }] = await Promise.all([getJson('/v1/openapi.json'), getJson('/docs/key.json'), loadScalar()]);
const anchorOf = anchorsOf(described);
followAnchors(anchorOf);

const configuration = {
  content: await shownDocument(described, key),
  authentication: {
    preferredSecurityScheme: 'bearer',
    securitySchemes: { bearer: { token: key ?? '' } },
  },
  // Their samples are ours: complete, and first in the menu.
  hiddenClients: { shell: true, js: true, node: true, python: true, c: true, http: true },
  ...slugs,
  redirect: anchorOf,
  // The site has navigation, search and the choice between dark and light.
  showSidebar: false,
  hideSearch: true,
  hideDarkModeToggle: true,
  hideModels: true,
  defaultOpenAllTags: true,
  documentDownloadType: 'json',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  maxVisibleRequestBodyProperties: 0,
  // All of it comes from here, and nothing is sent elsewhere.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
};
// What the page has without a script goes now that all is there.
const container = document.querySelector('#api');
container.replaceChildren();
Scalar.createApiReference(container, configuration);
// The page has one main part already, of which the reference is a region.
container.querySelector('main').setAttribute('role', 'region');
followTheme();

import './nonce.js';
import { anchorsOf, followAnchors, slugs } from './anchors.js';
import { forPage } from './for-page.js';
import { addSamples } from './samples.js';
import { forSandbox } from './sandbox.js';

const getJson = async (url) => (await fetch(url)).json();

/** Loads the script that renders the reference. It is not a module. */
function loadScalar() {
  const { promise, resolve, reject } = Promise.withResolvers();
  const script = document.createElement('script');
  Object.assign(script, { src: '/docs/reference/scalar.js', onload: resolve, onerror: reject });
  document.head.append(script);
  return promise;
}

/** Returns the document as this page shows it, with examples of the key's sandbox if there is a key. */
async function shownDocument(described, key) {
  const page = forPage(described, location.origin);
  const shown = key ? await forSandbox(page, key) : page;
  addSamples(shown, location.origin);
  return shown;
}

/** Applies the site's theme to the reference, now and on each change. Scalar sets the classes only once. */
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
  // Our own samples replace these clients: they are complete and come first in the menu.
  hiddenClients: { shell: true, js: true, node: true, python: true, c: true, http: true },
  ...slugs,
  redirect: anchorOf,
  // The site has its own navigation, search and theme selection.
  showSidebar: false,
  hideSearch: true,
  hideDarkModeToggle: true,
  hideModels: true,
  defaultOpenAllTags: true,
  documentDownloadType: 'json',
  orderSchemaPropertiesBy: 'preserve',
  orderRequiredPropertiesFirst: false,
  maxVisibleRequestBodyProperties: 0,
  // Loads nothing from other hosts and sends nothing to them.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
};
// Replaces the static reference now that everything is loaded.
const container = document.querySelector('#api');
container.replaceChildren();
Scalar.createApiReference(container, configuration);
// The page already has a main element, so the reference becomes a region.
container.querySelector('main').setAttribute('role', 'region');
followTheme();

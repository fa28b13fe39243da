import { replaceUnknownLanguage } from './browser-language.ts';
import { showFailure } from './failure.ts';
import './styles/base.css';
import './styles/frame.css';
import './styles/table.css';
import './styles/dialog.css';
import './styles/chart.css';
import './styles/trace.css';
import './styles/pages.css';

// Loaded only now: modules that use the browser's language do so while they load, and what any of them throws is shown.
replaceUnknownLanguage(navigator);
import('./console.tsx')
  .then(({ showConsole }) => showConsole(document.getElementById('root')!, showFailure))
  .catch(showFailure);

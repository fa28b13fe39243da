import chromium from '@sparticuz/chromium';

// Unpacks the browser into TMPDIR and prints its path. Run it with a separate TMPDIR.
console.log(await chromium.executablePath());

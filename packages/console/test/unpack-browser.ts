import chromium from '@sparticuz/chromium';

// Unpacks the browser into the system's folder for temporary files, and says where: run with a TMPDIR of its own.
console.log(await chromium.executablePath());

// Builds the page of the console, packages/console, into dist/console/page. `npm run build` runs it. It needs no browser. A
// checkout whose packages are older than it has no Vite yet: the server works without its console then, and `/ui/` says so.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { log, ROOT } from '../setup/run.mjs';

const FOLDER = join(ROOT, 'packages', 'console');
const NEEDED = ['vite', 'preact', '@preact/signals', 'uplot'];
const missing = NEEDED.filter((name) => !existsSync(join(ROOT, 'node_modules', name)));

if (missing.length > 0)
  log(`the console is not built: ${missing.join(', ')} are missing; npm ci installs them`);
else {
  const path = createRequire(join(FOLDER, 'package.json')).resolve('vite');
  const { build } = await import(pathToFileURL(path).href);
  await build({ configFile: join(FOLDER, 'vite.config.mjs') });
}

// Writes what `/docs` and `/v1/openapi.json` answer into dist/openapi: the document of the build's own routes, the files of
// Swagger UI, and the guides. `npm run build` runs it. So an installed package needs neither Nest's swagger module nor
// Swagger UI, of which a dependency counts installations.
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import 'reflect-metadata';

const BUILD = new URL('../../dist/', import.meta.url);
const built = (path) => import(new URL(path, BUILD).href);

const { apiDocumentOf } = await built('app/api-app.module.js');
const { Config } = await built('config/config.js');
const { Drain } = await built('http/request/drain.js');
const { asciiJson } = await built('contract/json/ascii-json.js');
const { BUILT_DOCUMENT } = await built('openapi/api-document.js');
const { BUILT_GUIDES, BUILT_PAGE, GUIDES, GUIDES_FOLDER, PACKAGE_FILES } =
  await built('openapi/docs-page.js');
const { guidePage } = await built('openapi/guide-page.js');

const document = await apiDocumentOf({
  config: new Config(),
  pools: { default: {} },
  log: pino({ level: 'silent' }),
  drain: new Drain(),
  metrics: { reads: false },
});
writeFileSync(BUILT_DOCUMENT, asciiJson(document), 'latin1');

const from = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
mkdirSync(BUILT_PAGE, { recursive: true });
for (const name of [...PACKAGE_FILES, 'LICENSE', 'NOTICE'])
  copyFileSync(join(from, name), join(BUILT_PAGE, name));
cpSync(GUIDES_FOLDER, BUILT_GUIDES, { recursive: true });
for (const [name, title] of GUIDES) {
  const source = readFileSync(join(GUIDES_FOLDER, `${name}.md`), 'utf8');
  writeFileSync(join(BUILT_GUIDES, `${name}.html`), guidePage(title, source));
}

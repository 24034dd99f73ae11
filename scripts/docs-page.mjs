// Writes what `/docs` and `/v1/openapi.json` answer into dist/openapi: the document of the build's own routes, and the
// files of Swagger UI. `npm run build` runs it. So an installed package needs neither Nest's swagger module nor Swagger
// UI, of which a dependency counts installations.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import 'reflect-metadata';

const BUILD = new URL('../dist/', import.meta.url);
const built = (path) => import(new URL(path, BUILD).href);

const { ApiAppModule } = await built('app/api-app.module.js');
const { Config } = await built('config/config.js');
const { Drain } = await built('http/request/drain.js');
const { apiAdapter } = await built('http/adapter.js');
const { asciiJson } = await built('http/answer/answer.js');
const { BUILT_DOCUMENT } = await built('openapi/api-document.js');
const { BUILT_PAGE, PACKAGE_FILES } = await built('openapi/docs-page.js');
const { buildDocument } = await built('openapi/document.js');

const config = new Config();
const [log, drain] = [pino({ level: 'silent' }), new Drain()];
const module = ApiAppModule.forRoot({
  config,
  pools: { default: {} },
  log,
  drain,
  metrics: { reads: false },
});
const adapter = apiAdapter({ settings: config.server, log, drain });
// A preview creates no provider: nothing connects to Redis.
const app = await NestFactory.create(module, adapter, { preview: true, logger: false, abortOnError: false });
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
writeFileSync(BUILT_DOCUMENT, asciiJson(await buildDocument(app, version)), 'latin1');

const from = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
mkdirSync(BUILT_PAGE, { recursive: true });
for (const name of [...PACKAGE_FILES, 'LICENSE', 'NOTICE'])
  copyFileSync(join(from, name), join(BUILT_PAGE, name));

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Nothing from elsewhere, no inline script. Swagger UI sets styles in its elements, and has its pictures in its style sheet. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of the page and all that it loads, names and values in turn. */
export const PAGE_HEADERS: readonly string[] = [
  ...['Content-Security-Policy', POLICY],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cache-Control', 'no-cache'],
];

/** Addresses are relative, so that a proxy may put the server under a path. Without an icon browsers ask for /favicon.ico, which is not there. */
const HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pumphouse API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="v1/openapi.json">v1/openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

/** Without a validator's address nothing is sent to anybody else. */
const SCRIPT = `SwaggerUIBundle({
  url: 'v1/openapi.json',
  dom_id: '#page',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout'
});
`;

/** A file of the page. */
export interface PageFile {
  readonly type: string;
  /** Its bytes, one for each character. */
  readonly latin1: string;
}

const packageFile = (name: string) => (): string =>
  readFileSync(
    join(dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')), name),
    'latin1',
  );

const SOURCES = {
  page: { type: 'text/html; charset=utf-8', read: () => HTML },
  'page.js': { type: 'text/javascript; charset=utf-8', read: () => SCRIPT },
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: packageFile('swagger-ui.css') },
  'swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: packageFile('swagger-ui-bundle.js'),
  },
} as const;

/** What the page consists of; `page` is the page itself. */
export type PageFileName = keyof typeof SOURCES;

/** The files of the page, read once and when they are first asked for: most servers are never asked. */
export class DocsPage {
  private readonly files = new Map<PageFileName, PageFile>();

  file(name: PageFileName): PageFile {
    const known = this.files.get(name);
    if (known !== undefined) return known;
    const { type, read } = SOURCES[name];
    const file = { type, latin1: read() };
    this.files.set(name, file);
    return file;
  }
}

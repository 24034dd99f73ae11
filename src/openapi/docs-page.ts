import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Only own files, no inline script. Swagger UI sets inline styles and has its images as data URLs in its style sheet. */
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

/** Headers of the page and of all files that it loads, names and values in turn. */
export const PAGE_HEADERS: readonly string[] = [
  ...['Content-Security-Policy', POLICY],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cache-Control', 'no-cache'],
];

/** The pages of docs/api, by name, in the order of a reader: `docs/guides/publish` is a page, with `.md` its source. */
export const GUIDES: ReadonlyMap<string, string> = new Map([
  ['publish', 'publish'],
  ['leases', 'lease and work'],
  ['retries', 'retries and failures'],
  ['idempotency', 'idempotency and unique keys'],
  ['dependencies', 'dependencies'],
  ['jobs', 'one job'],
  ['explain', 'why a job does not run'],
  ['lists', 'lists and tags'],
  ['operations', 'operations on many jobs'],
  ['queues', 'queues and settings'],
  ['dead-letter', 'dead-letter queue'],
  ['recurring', 'recurring jobs'],
  ['push', 'push'],
  ['workers', 'workers and sessions'],
  ['events', 'events'],
  ['statistics', 'statistics'],
  ['limits', 'limits and quotas'],
]);

const LINKS = [...GUIDES].map(([name, title]) => `<a href="docs/guides/${name}">${title}</a>`);

/**
 * Links are relative, so that a proxy may serve the page under a path. The icon link stops browsers from asking for
 * /favicon.ico, which does not exist. The classes are those of Swagger UI.
 */
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
<div class="swagger-ui"><div class="wrapper info">
<h1 class="title">Pumphouse</h1>
<p>Pumphouse is a job queue server over HTTP, for producers and workers in any language. A producer publishes a job, a
worker leases and acknowledges it, and a job whose worker fails or dies is tried again.</p>
<p>Guides: ${LINKS.join(', ')}.</p>
</div></div>
<div id="page"></div>
<noscript>This page needs JavaScript. The document itself is at <a href="v1/openapi.json">v1/openapi.json</a>.</noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/page.js"></script>
</body>
</html>
`;

/** No validator URL: nothing is sent to third parties. */
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
  readonly bytes: Buffer;
}

/** Where the build puts the files of Swagger UI. */
export const BUILT_PAGE = join(import.meta.dirname, 'page');
/** Where the build puts the guides. */
export const BUILT_GUIDES = join(BUILT_PAGE, 'guides');
/** Where the guides are in the repository. */
export const GUIDES_FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'api');
/** What the page uses of the package swagger-ui-dist. */
export const PACKAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const;

/** Reads a file of Swagger UI: from the build, or without one from the package, which only developers have. */
const packageFile = (name: (typeof PACKAGE_FILES)[number]) => (): Buffer => {
  const built = join(BUILT_PAGE, name);
  if (existsSync(built)) return readFileSync(built);
  return readFileSync(
    join(dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json')), name),
  );
};

const SOURCES = {
  page: { type: 'text/html; charset=utf-8', read: () => Buffer.from(HTML) },
  'page.js': { type: 'text/javascript; charset=utf-8', read: () => Buffer.from(SCRIPT) },
  'swagger-ui.css': { type: 'text/css; charset=utf-8', read: packageFile('swagger-ui.css') },
  'swagger-ui-bundle.js': {
    type: 'text/javascript; charset=utf-8',
    read: packageFile('swagger-ui-bundle.js'),
  },
} as const;

/** The files of the page; `page` is the HTML itself. */
export type PageFileName = keyof typeof SOURCES;

/** Reads the source of a guide, `publish.md`: from the build, or without one from the repository. */
function guideSource(name: string): Buffer {
  const built = join(BUILT_GUIDES, name);
  return readFileSync(existsSync(built) ? built : join(GUIDES_FOLDER, name));
}

/** Reads the page of a guide: from the build, or without one it is made by a package that only developers have. */
async function guideHtml(name: string): Promise<Buffer> {
  const built = join(BUILT_GUIDES, `${name}.html`);
  if (existsSync(built)) return readFileSync(built);
  const { guidePage } = await import('./guide-page.js');
  return Buffer.from(guidePage(GUIDES.get(name) ?? name, guideSource(`${name}.md`).toString()));
}

/** The files of the page, read at the first request: most servers never serve it. */
export class DocsPage {
  private readonly files = new Map<string, PageFile>();

  file(name: PageFileName): PageFile {
    return this.files.get(name) ?? this.keep(name, { type: SOURCES[name].type, bytes: SOURCES[name].read() });
  }

  /** A guide by its name, such as `publish`, or the name of its source, `publish.md`; undefined if there is none. */
  async guide(name: string): Promise<PageFile | undefined> {
    if (!GUIDES.has(name.replace(/\.md$/, ''))) return undefined;
    return this.files.get(name) ?? this.keep(name, await guideFile(name));
  }

  private keep(name: string, file: PageFile): PageFile {
    // guard: docs-bytes-shared
    this.files.set(name, file);
    return file;
  }
}

async function guideFile(name: string): Promise<PageFile> {
  if (name.endsWith('.md')) return { type: 'text/plain; charset=utf-8', bytes: guideSource(name) };
  return { type: 'text/html; charset=utf-8', bytes: await guideHtml(name) };
}

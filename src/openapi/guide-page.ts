import { micromark } from 'micromark';
import { gfmTable, gfmTableHtml } from 'micromark-extension-gfm-table';

const STYLE = `body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color: #222 }
pre, code { font: 0.875rem/1.4 ui-monospace, monospace; background: #f4f4f4; border-radius: 3px }
code { padding: 0 0.2em; overflow-wrap: anywhere }
pre { padding: 0.75rem 1rem; overflow-x: auto }
pre code { padding: 0 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
a { color: #0b5394 }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1b; color: #ddd }
  pre, code { background: #2a2a2a }
  th, td { border-color: #555 }
  a { color: #8ab4f8 }
}`;

/** @returns the page of a guide of docs/api, from its Markdown; HTML in the Markdown is shown as text */
export function guidePage(title: string, markdown: string): string {
  const html = micromark(markdown, { extensions: [gfmTable()], htmlExtensions: [gfmTableHtml()] });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Pumphouse</title>
<link rel="icon" href="data:,">
<style>
${STYLE}
</style>
</head>
<body>
<p><a href="../../docs">All calls and guides</a></p>
${withServedLinks(withAnchors(html))}
</body>
</html>
`;
}

/** Gives each heading the id that links of the guides use: GitHub's. */
function withAnchors(html: string): string {
  return html.replaceAll(/<h([1-6])>(.*?)<\/h\1>/g, (_heading, level: string, text: string) => {
    const id = text
      .replaceAll(/<[^>]*>|&\w+;/g, '')
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-');
    return `<h${level} id="${id}">${text}</h${level}>`;
  });
}

/** Keeps links to what this server has; of those to other pages of the repository only the text is left. */
function withServedLinks(html: string): string {
  return html.replaceAll(/<a href="([^"]*)">(.*?)<\/a>/gs, (link, address: string, text: string) => {
    const served = servedAddress(address);
    return served === undefined ? text : link.replace(address, () => served);
  });
}

function servedAddress(address: string): string | undefined {
  if (/^(#|https:)/.test(address)) return address;
  if (/^[\w-]+\.md(#|$)/.test(address)) return address.replace('.md', '');
  return address.startsWith('../reference/api') ? '../../docs' : undefined;
}

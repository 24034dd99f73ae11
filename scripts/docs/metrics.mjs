import { heading, NOTE, table } from './page.mjs';

/**
 * @typedef {{ name: string, help: string, type: string, labelNames: readonly string[], buckets?: readonly number[] }} Family
 * @param {{ families: readonly Family[], lmstfyPrefix: string }} sources
 */
export function metricsPage({ families, lmstfyPrefix }) {
  const isLmstfy = ({ name }) => name.startsWith(lmstfyPrefix);
  const rows = (some) =>
    some.map(({ name, type, labelNames, help }) => [
      `\`${name}\``,
      type,
      labelNames.map((label) => `\`${label}\``).join(', '),
      help,
    ]);
  const listed = (some) => table(['name', 'type', 'labels', 'meaning'], rows(some));
  const histograms = families.filter(({ buckets }) => buckets !== undefined);
  const sorted = families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return `# Metrics reference

${NOTE('src/metrics')}

\`GET /metrics\` on the admin port answers all of these for all processes of a server. What to watch, and which queues have
series: [operations](../operations.md#monitoring). Besides, there are \`process_*\` and \`nodejs_*\` of each process.

${heading(2, 'Pumphouse')}

Base units: seconds and bytes.

${listed(sorted.filter((family) => !isLmstfy(family)))}

${heading(2, 'lmstfy')}

The names, labels and units of a lmstfy server, for its dashboards. \`metrics.lmstfy_names = false\` leaves them out.

${listed(sorted.filter(isLmstfy))}

${heading(2, 'Buckets')}

${table(
  ['histogram', 'upper bounds'],
  histograms.map(({ name, buckets }) => [`\`${name}\``, (buckets ?? []).join(', ')]),
)}
`;
}

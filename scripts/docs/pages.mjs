import { apiPages } from './api.mjs';
import { configurationPage } from './configuration.mjs';
import { errorsPage } from './errors.mjs';
import { metricsPage } from './metrics.mjs';

/** The modules of the server that have the facts: of dist for the script, of src for the spec. */
export const SOURCES = {
  config: 'config/config.js',
  keys: 'config/keys.js',
  load: 'config/load.js',
  metrics: 'metrics/metrics.js',
  gauges: 'metrics/gauges.js',
  texts: 'http/answer/error-catalogue.js',
  v1: 'http/answer/errors.v1.js',
  lmstfy: 'http/answer/errors.lmstfy.js',
};

/**
 * The pages of docs/reference, by path.
 *
 * @param {Record<keyof typeof SOURCES, any>} modules
 * @param {object} document the OpenAPI document
 * @returns {Map<string, string>}
 */
export function referencePages({ config, keys, load, metrics, gauges, texts, v1, lmstfy }, document) {
  const { Config } = config;
  return new Map([
    ['configuration.md', configurationPage({ toml: load.printDefaultConfig(), config: Config, ...keys })],
    [
      'metrics.md',
      metricsPage({ families: familiesOf(metrics, gauges), lmstfyPrefix: metrics.LMSTFY_PREFIX }),
    ],
    ['errors.md', errorsPage({ errors: errorsOf(texts, v1, lmstfy) })],
    ...apiPages(document),
  ]);
}

function familiesOf({ Metrics }, { GAUGES }) {
  const { registry, lmstfyRegistry } = new Metrics();
  const counted = [registry, lmstfyRegistry].flatMap((one) => one.getMetricsAsArray());
  return [
    ...counted.map((family) => ({ ...family, type: typeOf(family), buckets: family.upperBounds })),
    ...Object.values(GAUGES).map((gauge) => ({ ...gauge, type: 'gauge' })),
  ];
}

/** Families are of classes of ours, below those of prom-client. */
function typeOf(family) {
  const { name } = Object.getPrototypeOf(family.constructor);
  return name.toLowerCase();
}

function errorsOf({ ERROR_TEXTS }, { PROBLEMS, HTTP_PROBLEMS, hasRetryAfter }, { REFUSALS }) {
  return Object.entries(ERROR_TEXTS).map(([code, { about, action }]) => {
    const isHttp = Object.hasOwn(HTTP_PROBLEMS, code);
    const refusal = isHttp ? undefined : REFUSALS[code]('…');
    return {
      code,
      about,
      action,
      status: isHttp ? HTTP_PROBLEMS[code] : PROBLEMS[code].status,
      retryAfter: !isHttp && hasRetryAfter(code),
      lmstfy: refusal === undefined ? null : `${refusal.status} ${refusal.json.replaceAll('\\u2026', '…')}`,
    };
  });
}

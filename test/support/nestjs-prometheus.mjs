/**
 * @willsoto/nestjs-prometheus for Jest: the package's own files as one ES module. They are CommonJS and require Nest, which is an ES
 * module: Node loads that, Jest refuses it. Here `require` answers with what was imported.
 */
import * as nest from '@nestjs/common';
import { readFileSync } from 'node:fs';
import promClient from 'prom-client';

const packages = { '@nestjs/common': nest, 'prom-client': promClient };
const loaded = new Map();

/** @param {URL} folder @param {string} id as the package's files write it */
function load(folder, id) {
  if (id in packages) return packages[id];
  const isFolder = id === './metrics';
  const file = new URL(isFolder ? `${id}/index.js` : `${id}.js`, folder);
  const exports = loaded.get(file.href) ?? {};
  if (loaded.has(file.href)) return exports;
  loaded.set(file.href, exports);
  new Function('exports', 'require', readFileSync(file, 'utf8'))(exports, (path) => load(file, path));
  return exports;
}

const dist = new URL('../../node_modules/@willsoto/nestjs-prometheus/dist/', import.meta.url);
export const {
  getToken,
  InjectMetric,
  makeCounterProvider,
  makeGaugeProvider,
  makeHistogramProvider,
  PrometheusModule,
} = load(dist, './index');

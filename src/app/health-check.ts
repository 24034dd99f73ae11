import { connect } from 'node:net';
import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';
import { parseArgs } from 'node:util';
import { loadConfig } from '../config/load.js';
import type { ServerConfig } from '../config/config.js';

/*
 * The health check of the container image: exit code 0 if `/healthz` of the API port answers 200. It reads the
 * configuration as the server does, so it follows `server.port` and TLS: `node dist/app/health-check.js [-c FILE]`.
 */

/** Shorter than the time-out in the Dockerfile. */
const WITHIN_MS = 2_500;
/** Addresses that are listened on, but cannot be connected to. */
const ANY: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

async function check({ host, port, tls_cert, tls_client_ca }: ServerConfig): Promise<boolean> {
  const address = { host: ANY[host] ?? host, port };
  // We have no certificate that the port would accept: that it listens must do.
  if (tls_client_ca !== undefined) return accepts(address);
  // The certificate is made out to the name that clients use, which is not this address.
  const options = { ...address, path: '/healthz', timeout: WITHIN_MS };
  return new Promise((resolve) => {
    const request =
      tls_cert === undefined ? getHttp(options) : getHttps({ ...options, rejectUnauthorized: false });
    request.once('response', ({ statusCode }) => resolve(statusCode === 200));
    request.once('timeout', () => resolve(false));
    request.once('error', () => resolve(false));
  });
}

function accepts(address: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: WITHIN_MS });
    socket.once('connect', () => resolve(true));
    socket.once('timeout', () => resolve(false));
    socket.once('error', () => resolve(false));
  });
}

const { values } = parseArgs({ options: { config: { type: 'string', short: 'c' } } });
const { server } = loadConfig(values.config === undefined ? {} : { file: values.config });
process.exit((await check(server)) ? 0 : 1);

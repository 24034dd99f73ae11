import { request as plainRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest, type RequestOptions } from 'node:https';
import { isNativeError } from 'node:util/types';
import type { TlsOptions } from '@pumphouse/client';

/** Codes of Node.js for a certificate that no trusted CA has signed. */
const UNTRUSTED = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
export const UNTRUSTED_HINT = 'Give the CA of its certificate with --ca FILE.';

/** The certificate of the server is not trusted. @param error of a call, or what caused it */
export function isUntrusted(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  return ('code' in error && UNTRUSTED.has(String(error.code))) || isUntrusted(error.cause);
}

/** One HTTP call. */
export interface HttpCall {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tls?: TlsOptions;
  readonly signal: AbortSignal;
}

/**
 * Makes a call and reads the whole answer. Does not follow redirects. Node's `fetch` cannot be given a CA.
 *
 * @throws {Error} the server does not answer, the signal aborts, or the server's certificate is not trusted by `tls`
 */
export function httpCall({
  method,
  url,
  headers,
  body,
  tls,
  signal,
}: HttpCall): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    // A connection of its own: the server may close a kept one just when the next call is sent.
    const options: RequestOptions = { method, headers, signal, agent: false, ...tls };
    const take = (response: IncomingMessage): void => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    };
    const request: ClientRequest = (url.protocol === 'https:' ? tlsRequest : plainRequest)(
      url,
      options,
      take,
    );
    request.once('error', reject);
    request.end(body);
  });
}

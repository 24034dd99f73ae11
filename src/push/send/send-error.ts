import { isNativeError } from 'node:util/types';

/** Why a request got no usable answer. The group of the failure that the job records. */
export type SendProblem = 'timeout' | 'dns' | 'tls' | 'connect' | 'blocked' | 'protocol' | 'aborted';

/** A request that failed. The message names the host at most: never a header, a body or a path. */
export class SendError extends Error {
  override readonly name = 'SendError';

  constructor(
    readonly problem: SendProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Codes of Node's TLS and of OpenSSL's verification of a certificate. */
const TLS_CODE =
  /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|CRL_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|ERROR_IN_CERT|PATH_LENGTH)/;
/** Codes of the HTTP parser. */
const PROTOCOL_CODE = /^HPE_/;

/** The error of a request or of a socket as a `SendError`. */
export function sendErrorOf(error: unknown, host: string): SendError {
  if (error instanceof SendError) return error;
  const { code: given, name } = isNativeError(error) ? (error as NodeJS.ErrnoException) : {};
  const code = given ?? name ?? '';
  if (code === 'ETIMEDOUT') {
    return new SendError('timeout', `no connection to ${host} in time`, { cause: error });
  }
  if (TLS_CODE.test(code)) return new SendError('tls', `TLS with ${host}: ${code}`, { cause: error });
  if (PROTOCOL_CODE.test(code)) {
    return new SendError('protocol', `${host} sent no valid HTTP answer: ${code}`, { cause: error });
  }
  return new SendError('connect', `connection to ${host}: ${code === '' ? 'lost' : code}`, { cause: error });
}

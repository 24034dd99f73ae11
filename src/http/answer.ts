import type { FastifyReply } from 'fastify';
import type { Drain } from './drain.js';
import { REQUEST_ID_HEADER } from './request-id.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Set by `buildAdapter`. */
    drain: Drain;
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
const NOT_ASCII = /[^\x20-\x7e]/g;

/**
 * JSON text of a value, in ASCII: what is beyond stands as `\uXXXX`, so that every body of this server is as many bytes as it has
 * characters, and is written without a pass for UTF-8.
 */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_ASCII, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What an answer may have besides its status and body. */
export interface AnswerOptions {
  /** Called when the last byte was handed to the operating system, or when the connection was destroyed before. */
  readonly sent?: () => void;
  /** Further header names and values in turn. */
  readonly headers?: readonly string[];
  /** False if the caller ends the response. */
  readonly last?: boolean;
}

/**
 * Sends a JSON body and is done with the request. It writes to Node's response itself: Fastify would lower-case the
 * header names, and its way there costs more.
 *
 * @param json ASCII only (`asciiJson`, or shapes built from checked names)
 */
export function answer(reply: FastifyReply, status: number, json: string, options?: AnswerOptions): void {
  const raw = begin(reply);
  const fields = [
    'Content-Type',
    JSON_TYPE,
    REQUEST_ID_HEADER,
    reply.request.id,
    'Content-Length',
    String(json.length),
  ];
  if (options?.headers !== undefined) fields.push(...options.headers);
  raw.writeHead(status, fields);
  if (options?.last === false) raw.write(json, 'latin1');
  else raw.end(json, 'latin1', options?.sent);
}

/** Sends 204, which has no body. */
export function answerNothing(reply: FastifyReply): void {
  const raw = begin(reply);
  raw.writeHead(204, [REQUEST_ID_HEADER, reply.request.id]);
  raw.end();
}

function begin(reply: FastifyReply): FastifyReply['raw'] {
  reply.hijack();
  const { raw } = reply;
  if (reply.server.drain.announced) raw.shouldKeepAlive = false;
  return raw;
}

import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isLoopback } from '../config/addresses.js';
import { Config } from '../config/config.js';
import { Accounts } from './accounts.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, on the admin port; left out if it has no accounts. */
    account?: string;
  }
}

/** Largest body on the admin port, in bytes: forms and limits are short. */
const MAX_BODY_BYTES = 65_536;
/** What probes must reach without an account. */
const OPEN_PATHS = ['/healthz', '/readyz'];

/**
 * Sets up the admin port's Fastify: who must say who they are, and bodies as plain text, whatever their content type says (lmstfy
 * reads a limit's JSON without looking at it, and `curl -d` calls it a form).
 */
@Injectable()
export class AdminHttp implements OnModuleInit {
  private readonly accounts: Accounts;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {
    this.accounts = new Accounts(config.admin.accounts);
  }

  /** @throws {Error} the port is open to other machines, and to anybody on them */
  onModuleInit(): void {
    const { host } = this.config.admin;
    if (!this.accounts.areNeeded && !isLoopback(host)) {
      throw new Error(
        `admin.host is ${host}: set admin.accounts, or keep the admin port on a loopback address`,
      );
    }
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
      (_request, body, done) => done(null, body),
    );
    fastify.addHook('onRequest', (request, reply, done) => {
      if (this.admits(request)) done();
      else challenge(reply);
    });
  }

  private admits(request: FastifyRequest): boolean {
    if (!this.accounts.areNeeded) return true;
    const account = this.accounts.whose(request.headers.authorization);
    if (account !== null) request.account = account;
    return account !== null || this.isOpen(request);
  }

  private isOpen({ method, url }: FastifyRequest): boolean {
    const path = url.split('?', 1)[0] ?? '';
    if (method !== 'GET') return false;
    return OPEN_PATHS.includes(path) || (path === '/metrics' && this.config.metrics.public);
  }
}

function challenge(reply: FastifyReply): void {
  void reply
    .code(401)
    .header('WWW-Authenticate', 'Basic realm="pumphouse", charset="UTF-8"')
    .send({ error: 'unauthorized' });
}

import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Fields, readForm } from './forms.js';
import type { TokenDetails } from '../auth/token-record.js';
import { describedToken } from './described-token.js';
import { TokenLifecycle } from './token-lifecycle.service.js';
import { TokenAdmin } from './token-admin.service.js';

/** lmstfy's calls on the tokens of a namespace. */
@Controller('token/:namespace')
export class TokensController {
  constructor(
    @Inject(TokenAdmin) private readonly tokens: TokenAdmin,
    @Inject(TokenLifecycle) private readonly lifecycle: TokenLifecycle,
  ) {}

  /** In clear, as lmstfy lists them; with their pool's prefix if the call names the pool. With `details=true`, more beside them. */
  @Get()
  async list(
    @Param('namespace') namespace: string,
    @Query('pool') pool?: string,
    @Query('details') details?: string,
  ): Promise<{ tokens: object; details?: object }> {
    const records = await this.lifecycle.describeAll(namespace, pool);
    const isNamed = pool !== undefined && pool !== '';
    const named = <T>(tell: (record: TokenDetails) => T): Record<string, T> =>
      Object.fromEntries(
        records.map((record) => [isNamed ? `${pool}:${record.token}` : record.token, tell(record)]),
      );
    const tokens = named(({ description }) => description);
    return details === 'true' ? { tokens, details: named(describedToken) } : { tokens };
  }

  /** Parameters come from a form or from the query; the form's are looked at first. */
  @Post()
  @HttpCode(201)
  async create(
    @Param('namespace') namespace: string,
    @Query() query: Fields,
    @Req() request: FastifyRequest,
  ): Promise<{ token: string }> {
    const form = readForm(request.headers['content-type'], request.body);
    const token = await this.tokens.create(request.account, {
      namespace,
      description: form['description'] ?? query['description'] ?? '',
      chosen: form['token'] ?? query['token'],
      pool: form['pool'] ?? query['pool'],
      verbs: form['verbs'] ?? query['verbs'],
      queues: form['queues'] ?? query['queues'],
      expires: form['expires'] ?? query['expires'],
    });
    return { token };
  }

  @Delete(':token')
  @HttpCode(204)
  async delete(
    @Param('namespace') namespace: string,
    @Param('token') token: string,
    @Req() request: FastifyRequest,
  ): Promise<void> {
    await this.tokens.delete(request.account, namespace, token);
  }
}

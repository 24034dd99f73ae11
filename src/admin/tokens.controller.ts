import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { type Fields, readForm } from './forms.js';
import { TokenAdmin } from './token-admin.service.js';

/** lmstfy's calls on the tokens of a namespace. */
@Controller('token/:namespace')
export class TokensController {
  constructor(@Inject(TokenAdmin) private readonly tokens: TokenAdmin) {}

  /** In clear, as lmstfy lists them; with their pool's prefix if the call names the pool. */
  @Get()
  async list(
    @Param('namespace') namespace: string,
    @Query('pool') pool?: string,
  ): Promise<{ tokens: object }> {
    const records = await this.tokens.list(namespace, pool);
    const isNamed = pool !== undefined && pool !== '';
    return {
      tokens: Object.fromEntries(
        records.map(({ token, description }) => [isNamed ? `${pool}:${token}` : token, description]),
      ),
    };
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

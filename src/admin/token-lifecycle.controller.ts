import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { spellToken } from '../auth/credentials.js';
import { type Fields, readForm } from './forms.js';
import { type DescribedToken, describedToken } from './described-token.js';
import { TokenLifecycle } from './token-lifecycle.service.js';

interface TokenParams {
  readonly namespace: string;
  readonly token: string;
}

/** Calls on one token that lmstfy does not have. */
@Controller('token/:namespace/:token')
export class TokenLifecycleController {
  constructor(@Inject(TokenLifecycle) private readonly tokens: TokenLifecycle) {}

  @Get()
  async show(
    @Param() { namespace, token }: TokenParams,
  ): Promise<{ namespace: string; pool: string; token: string } & DescribedToken> {
    const details = await this.tokens.describe(namespace, token);
    return { namespace, pool: details.pool, token: spellToken(details), ...describedToken(details) };
  }

  /** Parameters as for a new token. */
  @Post('rotate')
  @HttpCode(201)
  async rotate(
    @Param() { namespace, token }: TokenParams,
    @Query() query: Fields,
    @Req() request: FastifyRequest,
  ): Promise<{ token: string }> {
    const form = readForm(request.headers['content-type'], request.body);
    const made = await this.tokens.rotate(request.account, {
      namespace,
      text: token,
      chosen: form['token'] ?? query['token'],
      grace: form['grace'] ?? query['grace'],
      expires: form['expires'] ?? query['expires'],
    });
    return { token: made };
  }
}

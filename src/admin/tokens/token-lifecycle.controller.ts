import { Controller, Get, Param, Post } from '@nestjs/common';
import { spellToken } from '../../auth/credentials.js';
import { type DescribedToken, describedToken } from './described-token.js';
import { RotateTokenDto, TokenParams } from '../dto.js';
import { Account, FormOrQuery } from '../parameters.js';
import { TokenLifecycle } from './token-lifecycle.service.js';

/** Calls on one token that lmstfy does not have. */
@Controller('token/:namespace/:token')
export class TokenLifecycleController {
  constructor(private readonly tokens: TokenLifecycle) {}

  @Get()
  async show(
    @Param() { namespace, token }: TokenParams,
  ): Promise<{ namespace: string; pool: string; token: string } & DescribedToken> {
    const details = await this.tokens.describe(namespace, token);
    return { namespace, pool: details.pool, token: spellToken(details), ...describedToken(details) };
  }

  @Post('rotate')
  async rotate(
    @Account() account: string | undefined,
    @Param() { namespace, token: text }: TokenParams,
    @FormOrQuery(['token', 'grace', 'expires'])
    { token: chosen, grace, expires }: RotateTokenDto,
  ): Promise<{ token: string }> {
    return { token: await this.tokens.rotate(account, { namespace, text, chosen, grace, expires }) };
  }
}

import { Controller, Delete, Get, HttpCode, HttpStatus, Param, Post, Query } from '@nestjs/common';
import { spellToken } from '../../auth/credentials.js';
import type { TokenDetails } from '../../auth/token-record.js';
import { describedToken } from './described-token.js';
import { ListTokensQuery, NewTokenDto, TokenParams } from '../dto.js';
import { Account, FormOrQuery } from '../parameters.js';
import { TokenLifecycle } from './token-lifecycle.service.js';
import { TokenAdmin } from './token-admin.service.js';

/** lmstfy's calls for the tokens of a namespace. */
@Controller('token/:namespace')
export class TokensController {
  constructor(
    private readonly tokens: TokenAdmin,
    private readonly lifecycle: TokenLifecycle,
  ) {}

  /**
   * Lists tokens in plain text, as lmstfy does; with the prefix of the pool if the call names one. `details=true` adds
   * more facts.
   */
  @Get()
  async list(
    @Param('namespace') namespace: string,
    @Query() { pool, details }: ListTokensQuery,
  ): Promise<{ tokens: object; details?: object }> {
    const records = await this.lifecycle.describeAll(namespace, pool);
    const isNamed = pool !== undefined && pool !== '';
    const named = <T>(describe: (record: TokenDetails) => T): Record<string, T> =>
      Object.fromEntries(
        records.map((record) => [
          isNamed ? `${pool}:${record.token}` : /* guard: listed-token-is-usable */ spellToken(record),
          describe(record),
        ]),
      );
    const tokens = named(({ description }) => description);
    return details === 'true' ? { tokens, details: named(describedToken) } : { tokens };
  }

  @Post()
  async create(
    @Account() account: string | undefined,
    @Param('namespace') namespace: string,
    @FormOrQuery(['description', 'token', 'pool', 'verbs', 'queues', 'expires'])
    { description = '', token: chosen, pool, verbs, queues, expires }: NewTokenDto,
  ): Promise<{ token: string }> {
    const request = { namespace, description, chosen, pool, verbs, queues, expires };
    return { token: await this.tokens.create(account, request) };
  }

  @Delete(':token')
  @HttpCode(HttpStatus.NO_CONTENT)
  async delete(
    @Account() account: string | undefined,
    @Param() { namespace, token }: TokenParams,
  ): Promise<void> {
    await this.tokens.delete(account, namespace, token);
  }
}

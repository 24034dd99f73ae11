import { Body, Controller, Delete, Get, HttpStatus, Param, Post, Put } from '@nestjs/common';
import { parseToken, spellToken, tokenHint } from '../auth/credentials.js';
import { Actor } from '../domain/actor.js';
import { AdminException } from './admin-error.filter.js';
import { LimiterDto, TokenParams } from './dto.js';
import { toLimiterDto, toLimit } from './forms.js';
import { Account, CurrentActor } from './parameters.js';
import { LimiterPipe } from './pipes.js';
import { TokenAdmin } from './tokens/token-admin.service.js';

/** A limit in the answer of `/limits`. */
interface ListedLimit {
  readonly limiter: LimiterDto;
  readonly namespace: string;
  /** In plain text, as in lmstfy. */
  readonly token: string;
}

/** lmstfy's calls for the limits of tokens. */
@Controller()
export class LimitsController {
  constructor(private readonly tokens: TokenAdmin) {}

  /** Always read from the store; lmstfy's `force_update` has no effect. */
  @Get('limits')
  async list(@CurrentActor() actor: Actor): Promise<ListedLimit[]> {
    const records = await this.tokens.limits();
    return records.flatMap(({ pool, namespace, token, limit }) =>
      limit === null || /* guard: limits-shows-own-namespaces */ !actor.allows(namespace)
        ? []
        : [{ limiter: toLimiterDto(limit), namespace, token: spellToken({ pool, token }) }],
    );
  }

  @Get('token/:namespace/:token/limit')
  async get(@Param() { namespace, token }: TokenParams): Promise<LimiterDto> {
    const limit = await this.tokens.limit(namespace, token);
    if (limit === null) throw new AdminException(HttpStatus.NOT_FOUND, null);
    return toLimiterDto(limit);
  }

  @Post('token/:namespace/:token/limit')
  async add(
    @Account() account: string | undefined,
    @Param() { namespace, token }: TokenParams,
    @Body(LimiterPipe) limiter: LimiterDto,
  ): Promise<object> {
    const place = { namespace, text: token, onlyNew: true };
    if (await this.tokens.setLimit(account, place, toLimit(limiter))) return { limiter };
    const error = `throttler token(${tokenHint(parseToken(token).token)}) has already exists`;
    throw new AdminException(HttpStatus.CONFLICT, { error });
  }

  @Put('token/:namespace/:token/limit')
  async set(
    @Account() account: string | undefined,
    @Param() { namespace, token }: TokenParams,
    @Body(LimiterPipe) limiter: LimiterDto,
  ): Promise<object> {
    await this.tokens.setLimit(account, { namespace, text: token, onlyNew: false }, toLimit(limiter));
    return { limiter };
  }

  @Delete('token/:namespace/:token/limit')
  async delete(
    @Account() account: string | undefined,
    @Param() { namespace, token }: TokenParams,
  ): Promise<object> {
    await this.tokens.deleteLimit(account, namespace, token);
    return { msg: 'success' };
  }
}

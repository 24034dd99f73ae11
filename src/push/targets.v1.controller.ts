import {
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Inject,
  Patch,
  Post,
  Put,
  UseGuards,
} from '@nestjs/common';
import { BodyFields, InPath, QueryFields } from '../http/params.js';
import { pageIn, WholePageQuery } from '../http/request/page-query.js';
import type { Caller } from '../domain/caller.js';
import { CurrentCaller } from '../auth/current-caller.js';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { Config } from '../config/config.js';
import { hasLegalCharacters } from '../domain/ids.js';
import { MAX_NAME_LENGTH } from '../domain/limits.js';
import { toInside } from '../contract/fields/wire.js';
import { InputError } from '../contract/fields/problems.js';
import { Describe } from '../http/describe.js';
import { RotateFields, TargetChangeFields, TargetFields } from '../contract/targets.js';
import { TargetAnswer, TargetsAnswer, TestAnswer } from './dto.v1.js';
import { AckLinks } from './ack-links.js';
import { PushService } from './push.service.js';
import { changedTargetFacts, changesOf, checkSecret, targetFacts, testFacts } from './targets.v1.js';
import { TargetsService } from './targets.service.js';

const GROUP = 'Targets';
/** More than a URL and twenty headers need. */
const LIMIT = { maxBytes: 131_072 };
const ADMIN = { queues: 'none', verb: 'admin' } as const;
const USER = { queues: 'none', verb: 'push' } as const;
const SHOWN = { 200: { about: 'The target.', of: TargetAnswer } };

/** Targets of HTTP push on the native API. */
@Controller('v1/:namespace/targets')
@UseGuards(TokenGuard)
export class V1TargetsController {
  constructor(
    private readonly targets: TargetsService,
    private readonly push: PushService,
    private readonly config: Config,
    @Inject(AckLinks) private readonly links: AckLinks | null,
  ) {}

  @Get()
  @Access(USER)
  @Describe({
    id: 'listTargets',
    about: 'Lists the targets of the namespace by name. Secrets and the values of headers are not shown.',
    group: GROUP,
    query: WholePageQuery,
    answers: { 200: { about: 'A page of them.', of: TargetsAnswer } },
    errors: ['pool_moving'],
  })
  async list(@CurrentCaller() caller: Caller, @QueryFields() page: WholePageQuery) {
    const all = (await this.targets.list(caller)).map(targetFacts);
    return pageIn(all, ({ name }) => name, page);
  }

  @Get(':name')
  @Access(USER)
  @Describe({
    id: 'getTarget',
    about: 'Shows a target. Its secret and the values of its headers are not shown.',
    group: GROUP,
    answers: SHOWN,
    errors: ['target_not_found', 'pool_moving'],
  })
  async find(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    return targetFacts(await this.targets.find(caller, name));
  }

  @Put(':name')
  @Access(ADMIN)
  @Describe({
    id: 'putTarget',
    about: 'Creates or replaces a target.',
    details:
      'A new target gets a secret, which only this answer shows. A replaced target keeps its secret, unless another is given, and its pause.',
    group: GROUP,
    body: TargetFields,
    answers: SHOWN,
    errors: ['push_key_mismatch', 'pool_moving'],
  })
  async put(
    @CurrentCaller() caller: Caller,
    @InPath('name') name: string,
    @BodyFields(LIMIT) fields: TargetFields,
  ) {
    checkName(name);
    const changes = changesOf(fields, this.config.push, this.links !== null);
    return changedTargetFacts(await this.targets.put(caller, name, changes));
  }

  @Patch(':name')
  @Access(ADMIN)
  @Describe({
    id: 'updateTarget',
    about: 'Changes the given fields of a target; headers are replaced as a whole.',
    details: 'Servers use it within a second; requests that are under way do not change.',
    group: GROUP,
    body: TargetChangeFields,
    answers: SHOWN,
    errors: ['target_not_found', 'push_key_mismatch', 'pool_moving'],
  })
  async change(
    @CurrentCaller() caller: Caller,
    @InPath('name') name: string,
    @BodyFields(LIMIT) fields: TargetChangeFields,
  ) {
    const changes = changesOf(fields, this.config.push, this.links !== null);
    return changedTargetFacts(await this.targets.change(caller, name, changes));
  }

  @Delete(':name')
  @Access(ADMIN)
  @Describe({
    id: 'deleteTarget',
    about: 'Deletes a target. `target_in_use` while a queue is pushed to it.',
    group: GROUP,
    answers: { 204: { about: 'It is deleted.' } },
    errors: ['target_not_found', 'target_in_use', 'pool_moving'],
  })
  async remove(@CurrentCaller() caller: Caller, @InPath('name') name: string): Promise<void> {
    await this.targets.remove(caller, name);
  }

  @Post(':name/rotate')
  @HttpCode(HttpStatus.OK)
  @Access(ADMIN)
  @Describe({
    id: 'rotateTarget',
    about: 'Creates a new secret for a target, which only this answer shows.',
    details: 'For `keep_old_ms` requests are signed with both secrets, so that receivers can switch.',
    group: GROUP,
    body: RotateFields,
    answers: SHOWN,
    errors: ['target_not_found', 'push_key_mismatch', 'pool_moving'],
  })
  async rotate(
    @CurrentCaller() caller: Caller,
    @InPath('name') name: string,
    @BodyFields(LIMIT) fields: RotateFields,
  ) {
    const rotation = toInside(RotateFields, fields);
    checkSecret(rotation.secret);
    return changedTargetFacts(await this.targets.rotate(caller, name, rotation));
  }

  @Post(':name/pause')
  @HttpCode(HttpStatus.OK)
  @Access(ADMIN)
  @Describe({
    id: 'pauseTarget',
    about: 'Pauses a target: within a second no more jobs are leased for it. Requests in progress continue.',
    group: GROUP,
    answers: SHOWN,
    errors: ['target_not_found', 'pool_moving'],
  })
  async pause(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    return targetFacts(await this.targets.pause(caller, name));
  }

  @Post(':name/resume')
  @HttpCode(HttpStatus.OK)
  @Access(ADMIN)
  @Describe({
    id: 'resumeTarget',
    about: 'Ends the pause of a target, and closes its circuit breaker.',
    group: GROUP,
    answers: SHOWN,
    errors: ['target_not_found', 'pool_moving'],
  })
  async resume(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    return targetFacts(await this.targets.resume(caller, name));
  }

  @Post(':name/test')
  @HttpCode(HttpStatus.OK)
  @Access({ ...ADMIN, throttle: 'write' })
  @Describe({
    id: 'testTarget',
    about: 'Sends a test request to a target, and returns the answer.',
    details:
      'Its body is `{"test":true}`, its header `Pumphouse-Test` is 1. It changes no job, breaker or pause.',
    group: GROUP,
    answers: { 200: { about: 'The answer.', of: TestAnswer } },
    errors: ['target_not_found', 'push_disabled', 'push_key_mismatch', 'pool_moving'],
  })
  async test(@CurrentCaller() caller: Caller, @InPath('name') name: string) {
    return testFacts(await this.push.test(caller, name));
  }
}

/** @throws {InputError} no target can have this name */
function checkName(name: string): void {
  if (name !== '' && name.length <= MAX_NAME_LENGTH && hasLegalCharacters(name)) return;
  const rule = `must have 1 to ${String(MAX_NAME_LENGTH)} letters, digits, - and _`;
  throw new InputError([{ field: 'name', rule }]);
}

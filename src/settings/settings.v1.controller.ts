import { Controller, Delete, Get, Inject, Put, UseGuards } from '@nestjs/common';
import { Access } from '../auth/access.js';
import { TokenGuard } from '../auth/token.guard.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { Queues } from '../engine/queues.js';
import type { SettingKey } from '../engine/settings/known.js';
import { answer, answerNothing, asciiJson } from '../http/answer.js';
import { wholeBody } from '../http/body.js';
import { Describe } from '../http/describe.js';
import type { Exchange } from '../http/exchange.js';
import { InPath, Incoming } from '../http/incoming.js';
import { ChosenSettingFields, NamespaceSettingAnswer, NamespaceSettingsPage } from './dto.v1.js';
import { keyOf, settingJson, settingsJson, valueOf } from './settings.v1.js';

/** A number and its name, in bytes. */
const MAX_BODY_BYTES = 1_024;

/** Settings of a namespace on the native API. They concern all of its queues: tokens for some of them do not get in. */
@Controller('v1/:namespace/settings')
@UseGuards(TokenGuard)
export class V1SettingsController {
  constructor(@Inject(EngineRegistry) private readonly engines: EngineRegistry) {}

  /** All that may be chosen, with what holds. */
  @Get()
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    about: 'Shows all settings of the namespace, with what holds.',
    group: 'Settings',
    answers: { 200: { about: 'The settings.', of: NamespaceSettingsPage } },
  })
  async list(@Incoming() exchange: Exchange): Promise<void> {
    const { defaults, chosen } = await this.read(exchange);
    answer(exchange, 200, asciiJson(settingsJson(defaults, chosen)));
  }

  @Get(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    about: 'Shows a setting.',
    group: 'Settings',
    answers: { 200: { about: 'The setting.', of: NamespaceSettingAnswer } },
  })
  async get(@Incoming() exchange: Exchange, @InPath('key') key: string): Promise<void> {
    await this.show(exchange, keyOf(key));
  }

  /** Chooses `{"value":…}`. */
  @Put(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    about: 'Chooses a value for a setting.',
    group: 'Settings',
    body: ChosenSettingFields,
    answers: { 200: { about: 'The setting as it holds now.', of: NamespaceSettingAnswer } },
  })
  async set(@Incoming() exchange: Exchange, @InPath('key') name: string): Promise<void> {
    const key = keyOf(name);
    const body = await wholeBody(exchange, MAX_BODY_BYTES);
    const { settings } = this.queuesOf(exchange);
    await settings.set(exchange.namespace, key, valueOf(key, body));
    await this.show(exchange, key);
  }

  /** Back to the default, whether something was chosen or not. */
  @Delete(':key')
  @Access({ queues: 'none', verb: 'admin' })
  @Describe({
    about: 'Sets a setting back to its default.',
    group: 'Settings',
    answers: { 204: { about: 'It holds.' } },
  })
  async unset(@Incoming() exchange: Exchange, @InPath('key') key: string): Promise<void> {
    await this.queuesOf(exchange).settings.unset(exchange.namespace, keyOf(key));
    answerNothing(exchange);
  }

  private async show(exchange: Exchange, key: SettingKey): Promise<void> {
    const { defaults, chosen } = await this.read(exchange);
    answer(exchange, 200, asciiJson(settingJson(key, defaults, chosen)));
  }

  private async read(exchange: Exchange) {
    const { settings } = this.queuesOf(exchange);
    return { defaults: settings.defaults, chosen: await settings.chosen(exchange.namespace) };
  }

  private queuesOf({ caller }: Exchange): Queues {
    return this.engines.forPool(caller.pool);
  }
}

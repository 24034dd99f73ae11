import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { V1SettingsController } from './settings.v1.controller.js';
import { V1VariablesController } from './variables.v1.controller.js';

/** Settings and variables of a namespace. */
@Module({ imports: [AuthModule], controllers: [V1SettingsController, V1VariablesController] })
export class SettingsModule {}

/**
 * The engine with options that only tests set.
 *
 * @packageDocumentation
 * @internal
 */

import type { StorageEngine } from '@tidemark/store/engine'
import type { TestedEngineOptions } from './options.ts'
import { openPostgresEngine } from './postgres-engine.ts'

export type { TestedEngineOptions } from './options.ts'

/** `openPostgresEngine`, with options that only tests set. */
export const openTestedEngine: (options: TestedEngineOptions) => Promise<StorageEngine> =
  openPostgresEngine

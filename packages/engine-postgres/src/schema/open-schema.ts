import type { Random } from '@tidemark/contracts'
import { assertPrimary } from './judge-schema.ts'
import { initSchema, look, migrateSchema, usable, type SchemaOptions } from './manage-schema.ts'

export interface OpenSchemaOptions extends SchemaOptions {
  /** `auto`: creates a missing schema and migrates an older one. `none`: only checks. */
  readonly management: 'auto' | 'none'
  readonly random: Random
}

/**
 * For a program that uses the store. Rejects as `initSchema`, `migrateSchema`, `checkSchema` do, and with
 * ERR_STORE_UNAVAILABLE on a standby.
 */
export async function openSchema(
  options: OpenSchemaOptions,
): Promise<{ readonly storeId: string }> {
  const { state, verdict } = await look(options)
  assertPrimary(state)
  if (options.management === 'auto') {
    if (verdict.kind === 'missing') return initSchema(options)
    if (verdict.kind === 'older') return migrateSchema(options)
  }
  return usable(verdict, options)
}

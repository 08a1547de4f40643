import type { Store } from '@tidemark/store'
import type { CommandContext } from './command-context.ts'
import { openLeases, type OpenedLeases } from './lease-location.ts'
import { writeText } from './output/json-lines.ts'

/**
 * Opens the leases of a worker in this process, and creates what is missing. Prints how durable they are, if the lease
 * store reports it.
 *
 * Rejects as `openLeases` does.
 */
export async function openWorkerLeases(
  location: string,
  { store, allowVolatile }: { readonly store: Store; readonly allowVolatile: boolean | undefined },
  { errors }: CommandContext,
): Promise<OpenedLeases> {
  const leases = await openLeases(location, { store, missing: 'create', allowVolatile })
  try {
    const durability = await leases.store.readDurability?.()
    if (durability !== undefined) {
      const { level, findings } = durability
      await writeText(errors, `leases: durability level ${level} (${findings.join('; ')})\n`)
    }
    return leases
  } catch (error) {
    await leases[Symbol.asyncDispose]()
    throw error
  }
}

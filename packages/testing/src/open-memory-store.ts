import { openMemoryEngine, type MemoryEngineOptions } from '@tidemark/engine-sqlite'
import { Store, type MaintenanceMode } from '@tidemark/store'

/** A new, empty store in memory. */
export function openMemoryStore({
  maintenance,
  ...options
}: MemoryEngineOptions & {
  readonly maintenance?: MaintenanceMode | undefined
} = {}): Promise<Store> {
  return Store.open({ engine: openMemoryEngine(options), maintenance })
}

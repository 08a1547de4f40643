import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { MapDocument } from '@tidemark/jobs'
import type { DocumentBody } from '@tidemark/contracts'
import { InputError } from './input-error.ts'

type AnyMap = MapDocument<DocumentBody, DocumentBody>

/**
 * The function that a module exports as `mapDocument` or as its default.
 *
 * Rejects with ERR_INPUT when the module cannot be loaded or exports none.
 */
export async function loadMapModule(path: string): Promise<AnyMap> {
  const module = await loadModule('--map', path)
  const exported = module['mapDocument'] ?? module['default']
  if (!isMap(exported)) {
    throw new InputError(
      `--map ${path} must export a function mapDocument(document), by that name or as default`,
    )
  }
  return exported
}

/** What a module exports. Rejects with ERR_INPUT when it cannot be loaded. */
export async function loadModule(
  flag: string,
  path: string,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const module: unknown = await import(pathToFileURL(resolve(path)).href)
    return typeof module === 'object' ? { ...module } : {}
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${flag} ${path} cannot be loaded: ${reason}`, { cause })
  }
}

// The store checks the result when it is written.
function isMap(value: unknown): value is AnyMap {
  return typeof value === 'function'
}

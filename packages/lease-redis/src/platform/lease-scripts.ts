import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { LeaseStorageError } from '@tidemark/contracts'

/** The scripts, by the names of their files in `lua/`. */
export const LEASE_SCRIPTS = [
  'open',
  'sync',
  'create',
  'read',
  'claim-feed',
  'plan',
  'acquire',
  'checkpoint',
  'release',
  'replace',
  'override',
  'pause',
  'discard',
  'declare-lost',
  'note',
  'read-notes',
] as const

export type LeaseScriptName = (typeof LEASE_SCRIPTS)[number]

export interface LeaseScript {
  readonly name: LeaseScriptName
  readonly text: string
  readonly sha1: string
}

/**
 * Works from `src/platform` and from `dist/platform`. In a bundle it is the folder `lua` next to it if there is one,
 * otherwise that of the installed package.
 */
function scriptFolder(): URL {
  // A CommonJS bundle has no import.meta.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href
  const folders = ['../../lua/', './lua/'].map((folder) => new URL(folder, here))
  const found = folders.find((folder) => existsSync(new URL('prelude.lua', folder)))
  if (found !== undefined) return found
  try {
    return new URL('lua/', import.meta.resolve('@tidemark/lease-redis/package.json'))
  } catch (cause) {
    const where = fileURLToPath(new URL('./lua/', here))
    throw new LeaseStorageError(
      `${where} is missing: copy the folder lua of @tidemark/lease-redis next to your bundle`,
      { cause },
    )
  }
}

/** Reads the scripts from the package's `lua` folder, each with the prelude before it. */
export async function loadLeaseScripts(): Promise<ReadonlyMap<LeaseScriptName, LeaseScript>> {
  const folder = scriptFolder()
  const prelude = await readFile(new URL('prelude.lua', folder), 'utf8')
  const scripts = await Promise.all(
    LEASE_SCRIPTS.map(async (name): Promise<[LeaseScriptName, LeaseScript]> => {
      const text = `${prelude}\n${await readFile(new URL(`${name}.lua`, folder), 'utf8')}`
      const sha1 = createHash('sha1').update(text).digest('hex')
      return [name, { name, text, sha1 }]
    }),
  )
  return new Map(scripts)
}

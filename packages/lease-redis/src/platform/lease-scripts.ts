import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** The scripts, by the names of their files in `lua/`. */
export const LEASE_SCRIPTS = [
  'open',
  'sync',
  'create',
  'read',
  'plan',
  'acquire',
  'checkpoint',
  'release',
  'replace',
  'override',
  'pause',
  'discard',
  'declare-lost',
] as const

export type LeaseScriptName = (typeof LEASE_SCRIPTS)[number]

export interface LeaseScript {
  readonly name: LeaseScriptName
  readonly text: string
  readonly sha1: string
}

/** From `src/platform` and from `dist/platform` alike. */
const FOLDER = new URL('../../lua/', import.meta.url)

/** Reads the scripts from the package's `lua` folder, each with the prelude before it. */
export async function loadLeaseScripts(): Promise<ReadonlyMap<LeaseScriptName, LeaseScript>> {
  const prelude = await readFile(new URL('prelude.lua', FOLDER), 'utf8')
  const scripts = await Promise.all(
    LEASE_SCRIPTS.map(async (name): Promise<[LeaseScriptName, LeaseScript]> => {
      const text = `${prelude}\n${await readFile(new URL(`${name}.lua`, FOLDER), 'utf8')}`
      const sha1 = createHash('sha1').update(text).digest('hex')
      return [name, { name, text, sha1 }]
    }),
  )
  return new Map(scripts)
}

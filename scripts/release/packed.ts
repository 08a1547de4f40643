import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Publication } from './publish.ts'

/** What was checked, in the order in which it is published; paths are those of files beside it. */
const LIST = 'release.json'

interface List {
  readonly commit: string
  /** What could not be checked. */
  readonly unchecked: readonly string[]
  readonly publications: readonly Publication[]
}

/** Writes down which tarballs of a folder were checked, and the commit that they were made of. */
export function writePacked(folder: string, { publications, ...checked }: List): void {
  const files = publications.map((item) => ({ ...item, path: basename(item.path) }))
  const text = JSON.stringify({ ...checked, publications: files }, null, 2)
  writeFileSync(join(folder, LIST), `${text}\n`)
}

/** @throws Error when a tarball is not what was checked, or when that was another commit */
export function readPacked(folder: string, commit: string): List {
  const file = join(folder, LIST)
  if (!existsSync(file)) throw new Error(`nothing was packed: there is no ${file}`)
  const packed = JSON.parse(readFileSync(file, 'utf8')) as List
  if (packed.commit !== commit) throw new Error(`${file} is of another commit, ${packed.commit}`)
  const publications = packed.publications.map((item) => {
    const path = join(folder, basename(item.path))
    const digest = createHash('sha512').update(readFileSync(path)).digest('base64')
    if (`sha512-${digest}` !== item.integrity) throw new Error(`${path} is not what was checked`)
    return { ...item, path }
  })
  return { ...packed, publications }
}

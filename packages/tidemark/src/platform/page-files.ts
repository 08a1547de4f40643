import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { packageFile } from './package-file.ts'

/** A file of the page. */
export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly gzipped: Uint8Array<ArrayBuffer>
  readonly etag: string
}

/** The files of the page by path, such as `index.html` and `assets/main.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>

/** Files that are in memory. */
export function pageFiles(texts: Readonly<Record<string, string | Uint8Array>>): PageFiles {
  return new Map(
    Object.entries(texts).map(([path, content]) => {
      const bytes = new Uint8Array(Buffer.from(content))
      const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
      return [path, { bytes, gzipped: new Uint8Array(gzipSync(bytes, { level: 9 })), etag }]
    }),
  )
}

/** The page as it was built into this package; no files when it was not built. */
export async function builtPageFiles(): Promise<PageFiles> {
  const built = packageFile('dashboard/dist/')
  let names: readonly string[]
  try {
    names = await readdir(built, { recursive: true })
  } catch {
    return new Map()
  }
  const texts: Record<string, Uint8Array> = {}
  for (const name of names) {
    if (!/\.[a-z0-9]+$/i.test(name)) continue
    texts[name.replaceAll('\\', '/')] = await readFile(new URL(name, built))
  }
  return pageFiles(texts)
}

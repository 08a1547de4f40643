import { join } from 'node:path'
import { cacheFolderOf } from './cache-folder.ts'
import { ensureNpmPackage } from './npm-packages.ts'

export interface EnsureNodeOptions {
  /** As of `node --version`, without the v. */
  version: string
  /** Folder for what is fetched. @default `.cache` in the working folder */
  cacheFolder?: string | undefined
  /** Told what is being fetched, one line each. @default nothing */
  onProgress?: ((line: string) => void) | undefined
}

/** A `node` executable of exactly this version for this machine, fetched by npm when it is not there yet. */
export async function ensureNode(options: EnsureNodeOptions): Promise<string> {
  const { version, onProgress: report = () => {} } = options
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const place = `${platform}-${process.arch}`
  // The names that npm's package "node" knows.
  const name = place === 'darwin-arm64' ? `node-bin-${place}` : `node-${place}`
  const cacheFolder = cacheFolderOf(options)
  const folder = await ensureNpmPackage(name, { version, cacheFolder, report })
  return join(folder, 'bin', 'node')
}

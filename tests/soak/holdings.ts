import { readdir, readlink } from 'node:fs/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Holdings } from './soak-tasks.ts'

/** Of this process. */
export function takeHoldings(): Holdings {
  collectGarbage()
  const { heapUsed, rss } = process.memoryUsage()
  const resources = process.getActiveResourcesInfo().length
  return { heapBytes: heapUsed, residentBytes: rss, resources }
}

function collectGarbage(): void {
  if (globalThis.gc === undefined) {
    setFlagsFromString('--expose-gc')
    globalThis.gc = runInNewContext('gc') as NodeJS.GCFunction
  }
  globalThis.gc()
}

export interface OpenFiles {
  readonly files: number
  readonly sockets: number
}

/** File descriptors of a process; undefined where the system does not show them. */
export async function openFilesOf(pid: number): Promise<OpenFiles | undefined> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) return undefined
  // Some are closed meanwhile.
  const targets = await Promise.all(
    names.map((name) => readlink(`${folder}/${name}`).catch(() => '')),
  )
  const open = targets.filter((target) => target !== '')
  return {
    files: open.length,
    sockets: open.filter((target) => target.startsWith('socket:')).length,
  }
}

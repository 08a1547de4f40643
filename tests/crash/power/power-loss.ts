import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SOURCE = fileURLToPath(new URL('power-loss.c', import.meta.url))
const BLOCK_BYTES = 4096

/** Builds the library that keeps what was synced. Rejects when there is no compiler: the test is never skipped. */
export async function buildShim(shim: string): Promise<void> {
  if (process.platform !== 'linux') throw new Error('the loss of power is modelled on Linux only')
  try {
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', shim, SOURCE, '-ldl'])
  } catch (cause) {
    throw new Error('a C compiler is needed: on Debian, apt-get install gcc libc6-dev', { cause })
  }
}

/** From here on, everything that is now in the store counts as synced. */
export function beginKeeping(store: string, kept: string): void {
  rmSync(kept, { recursive: true, force: true })
  mkdirSync(kept)
  for (const file of filesOf(store)) copyFileSync(file, join(kept, inodeOf(file)))
}

/**
 * Gives each file of the store the content that it had at its last sync. With `chance`, each block that was written since
 * may be there as well, in any combination: a disk writes in any order.
 */
export function losePower(
  store: string,
  { kept, chance }: { readonly kept: string; readonly chance?: (() => number) | undefined },
): void {
  for (const file of filesOf(store)) {
    // In memory only.
    if (file.endsWith('-shm')) {
      rmSync(file)
      continue
    }
    const copy = join(kept, inodeOf(file))
    const synced = existsSync(copy) ? readFileSync(copy) : Buffer.alloc(0)
    const content = chance === undefined ? synced : mixed(synced, readFileSync(file), chance)
    // In place: the file is not another one afterwards.
    writeFileSync(file, content)
  }
}

function mixed(synced: Buffer, live: Buffer, chance: () => number): Buffer {
  let content = Buffer.from(synced)
  for (let at = 0; at < live.length; at += BLOCK_BYTES) {
    const block = live.subarray(at, at + BLOCK_BYTES)
    if (block.equals(content.subarray(at, at + block.length)) || chance() < 0.5) continue
    if (at + block.length > content.length) {
      content = Buffer.concat([content, Buffer.alloc(at + block.length - content.length)])
    }
    block.copy(content, at)
  }
  return content
}

function filesOf(store: string): readonly string[] {
  return readdirSync(store, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => join(store, name))
}

function inodeOf(file: string): string {
  return String(statSync(file, { bigint: true }).ino)
}

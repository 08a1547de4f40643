import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ScenarioSkipped } from './scenario.ts'

const run = promisify(execFile)
const SOURCE = fileURLToPath(new URL('../raw/slow-sync.c', import.meta.url))

/** Compiles the shim that slows `fsync` and `fdatasync`, into a folder. */
export async function compileSlowSync(folder: string): Promise<string> {
  if (process.platform !== 'linux') throw new ScenarioSkipped('the shim is for Linux')
  const shim = `${folder}/slow-sync.so`
  try {
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', shim, SOURCE, '-ldl'])
  } catch {
    throw new ScenarioSkipped('it needs a C compiler (cc)')
  }
  return shim
}

/** Of a process whose syncs take `ms` longer; how many there were is in `countFile`, if given. */
export function slowSyncEnvironment(
  shim: string,
  { ms, countFile }: { readonly ms: number; readonly countFile?: string | undefined },
): NodeJS.ProcessEnv {
  return {
    LD_PRELOAD: shim,
    SLOW_SYNC_US: String(ms * 1000),
    ...(countFile !== undefined && { SLOW_SYNC_COUNT_FILE: countFile }),
  }
}

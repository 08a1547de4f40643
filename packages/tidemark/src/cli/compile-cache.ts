import { lstatSync, mkdirSync, statSync, type Stats } from 'node:fs'
import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/**
 * Keeps compiled code for the next start: a command begins in half the time. To be called before anything else is loaded;
 * it holds for the threads of the engine too.
 */
export function keepCompiledCode(environment: NodeJS.ProcessEnv): void {
  // Node 20 cannot do it. Where the variable is set, Node has begun by itself, in the folder that it names.
  if (!('enableCompileCache' in nodeModule)) return
  if (environment['NODE_COMPILE_CACHE'] !== undefined) return
  const folder = compileCacheFolder(environment)
  if (folder === undefined) return
  const { directory } = nodeModule.enableCompileCache(folder)
  if (directory !== undefined) environment['NODE_COMPILE_CACHE'] = folder
}

/**
 * A folder of this user that nobody else can write to, because what is in it is run: never one in a folder for temporary
 * files, which all users share. Undefined when there can be none.
 */
export function compileCacheFolder(environment: NodeJS.ProcessEnv): string | undefined {
  const given = environment['XDG_CACHE_HOME'] ?? ''
  try {
    const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'tidemark')
    // Under sudo the home may be that of another user, who must not find files of root in it.
    if (!isOwn(nearest(folder))) return undefined
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const made = lstatSync(folder)
    const isPrivate = process.platform === 'win32' || (made.mode & 0o022) === 0
    return made.isDirectory() && isOwn(made) && isPrivate ? folder : undefined
  } catch {
    return undefined
  }
}

/** Of the path, or of the first above it that exists. */
function nearest(path: string): Stats {
  return statSync(path, { throwIfNoEntry: false }) ?? nearest(dirname(path))
}

function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

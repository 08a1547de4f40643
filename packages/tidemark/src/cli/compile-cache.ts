import { lstatSync, mkdirSync, statSync, type Stats } from 'node:fs'
import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/**
 * Keeps compiled code for the next start, which halves the start time of a command. Call it before anything else is
 * loaded. It also applies to the threads of the engine.
 */
export function keepCompiledCode(environment: NodeJS.ProcessEnv): void {
  // Node 20 cannot do it. If the variable is set, Node has already begun, in the folder that it names.
  if (!('enableCompileCache' in nodeModule)) return
  if (environment['NODE_COMPILE_CACHE'] !== undefined) return
  const folder = compileCacheFolder(environment)
  if (folder === undefined) return
  const { directory } = nodeModule.enableCompileCache(folder)
  if (directory !== undefined) environment['NODE_COMPILE_CACHE'] = folder
}

/**
 * A folder of this user that no other user can write to, because the code in it is run. It is never in a folder for
 * temporary files, which all users share. Undefined when there can be none.
 */
export function compileCacheFolder(environment: NodeJS.ProcessEnv): string | undefined {
  const given = environment['XDG_CACHE_HOME'] ?? ''
  try {
    const folder = join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'tidemark')
    // Under sudo, the home may be that of another user, who must not find files of root in it.
    if (!isOwn(nearest(folder))) return undefined
    makeFolder(folder)
    const made = lstatSync(folder)
    const isPrivate = process.platform === 'win32' || (made.mode & 0o022) === 0
    return made.isDirectory() && isOwn(made) && isPrivate ? folder : undefined
  } catch {
    return undefined
  }
}

/** With those above it. Node's own way does not end where a system refuses a name as if its parent were missing, as /proc does. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

/** Of the path, or of its first parent that exists. */
function nearest(path: string): Stats {
  return statSync(path, { throwIfNoEntry: false }) ?? nearest(dirname(path))
}

function isOwn({ uid }: Stats): boolean {
  return process.geteuid === undefined || uid === process.geteuid()
}

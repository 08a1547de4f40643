import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './repository.ts'
import { outputOf, runProgram } from './run-program.ts'

/**
 * Installs what a folder with a package.json and a lock file of its own needs, unless it is there: what only one command uses is no
 * dependency of the repository.
 */
export async function installBeside(folder: string): Promise<void> {
  const path = join(ROOT, folder)
  // Written by npm when it is done.
  const installed = join(path, 'node_modules/.package-lock.json')
  const lock = join(path, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  console.error(`installing the packages of ${folder}`)
  // Their binaries come as packages for each platform: no script has to run.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund']
  await outputOf(runProgram, 'npm', ['ci', ...flags], { cwd: path })
}

if (import.meta.main) for (const folder of process.argv.slice(2)) await installBeside(folder)

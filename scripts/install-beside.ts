import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './repository.ts'
import { outputOf, runProgram } from './run-program.ts'

/**
 * Installs the packages of a folder that has its own package.json and lock file, unless they are up to date. A package that only one
 * command uses is not a dependency of the repository.
 */
export async function installBeside(folder: string): Promise<void> {
  const path = join(ROOT, folder)
  // npm writes it last.
  const installed = join(path, 'node_modules/.package-lock.json')
  const lock = join(path, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return
  console.error(`installing the packages of ${folder}`)
  // Their binaries come as packages for each platform: no script has to run.
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund']
  await outputOf(runProgram, 'npm', ['ci', ...flags], { cwd: path })
}

if (import.meta.main) for (const folder of process.argv.slice(2)) await installBeside(folder)

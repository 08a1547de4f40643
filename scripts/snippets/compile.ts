import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { runProgram } from '../run-program.ts'

/** Of users who are strict. */
const COMPILER_OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  module: 'nodenext',
  target: 'esnext',
  lib: ['esnext'],
  types: ['node'],
}

/** Compiles what `include` names in a folder. Returns what the compiler says, one line each. */
export async function compile(folder: string, include: string): Promise<readonly string[]> {
  const project = join(folder, `tsconfig.${include.replaceAll(/\W/g, '')}.json`)
  await writeFile(
    project,
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: [include] }),
  )
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const args = ['-p', project, '--pretty', 'false']
  const { stdout } = await runProgram(tsc, args, { cwd: folder })
  return stdout.split('\n').filter((line) => line !== '')
}

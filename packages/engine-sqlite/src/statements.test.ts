import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** The lines of each source file. */
function sources(): readonly { readonly file: string; readonly lines: readonly string[] }[] {
  const folder = import.meta.dirname
  const files = globSync('**/*.ts', { cwd: folder }).filter(
    (file) => !/\.(test|child)\./.test(file),
  )
  return files.map((file) => {
    return { file, lines: readFileSync(join(folder, file), 'utf8').split('\n') }
  })
}

test('no statement numbers its parameters: Node 22.18 to 24.6 takes ?2 for a name and refuses its value', () => {
  const files = sources()
  expect(files.length).toBeGreaterThan(40)
  const numbered = files.flatMap(({ file, lines }) =>
    lines.filter((line) => /\?\d|`\?\$\{/.test(line)).map((line) => `${file}: ${line.trim()}`),
  )
  expect(numbered).toEqual([])
})

test('no limit is a parameter alone: SQLite would prepare the statement again for each value', () => {
  const alone = sources().flatMap(({ file, lines }) =>
    lines.filter((line) => /LIMIT \?(?! \+ 0)/.test(line)).map((line) => `${file}: ${line.trim()}`),
  )
  expect(alone).toEqual([])
})

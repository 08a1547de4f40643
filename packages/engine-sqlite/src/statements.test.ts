import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('no statement numbers its parameters: Node 22.18 to 24.6 takes ?2 for a name and refuses its value', () => {
  const folder = import.meta.dirname
  const files = globSync('**/*.ts', { cwd: folder }).filter(
    (file) => !/\.(test|child)\./.test(file),
  )
  expect(files.length).toBeGreaterThan(40)
  const numbered = files.flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .filter((line) => /\?\d|`\?\$\{/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(numbered).toEqual([])
})
